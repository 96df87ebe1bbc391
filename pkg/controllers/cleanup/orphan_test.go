package cleanup

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
)

func TestAccountGoesWithItsOwnerAndAfterItsBindings(t *testing.T) {
	w := newWorld(t)
	account := &corev1.ServiceAccount{ObjectMeta: meta(hub.Agents, "r-1", owner(kindRegistration, "r", "1"))}
	w.accounts.Add(account)
	binding := func(namespace, name string, subjects ...rbacv1.Subject) *rbacv1.RoleBinding {
		return &rbacv1.RoleBinding{ObjectMeta: meta(namespace, name, ""), Subjects: subjects}
	}
	its := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: hub.Agents, Name: "r-1"}
	w.roleBindings.Add(
		binding(workspace, "its", its),
		binding("cluster-ns", "its", its),
		binding(workspace, "shared", its, rbacv1.Subject{Kind: rbacv1.UserKind, Name: "somebody"}),
		binding(workspace, "same-name", rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: workspace, Name: "r-1"}),
	)
	var order []string
	w.roleBindings.Fail = func(verb, key string) error { order = append(order, verb+" binding "+key); return nil }
	w.accounts.Fail = func(verb, key string) error { order = append(order, verb+" account "+key); return nil }

	w.registrations.Add(registrationOf("r", "1"))
	require.NoError(t, w.account(account))
	assert.Empty(t, order, "its owner lives")

	w.registrations.Remove(workspace, "r")
	require.NoError(t, w.account(w.accounts.Live(hub.Agents, "r-1")))
	assert.ElementsMatch(t, []string{"delete binding " + workspace + "/its", "delete binding cluster-ns/its"}, order[:2])
	assert.Equal(t, []string{"delete account " + hub.Agents + "/r-1"}, order[2:])
	assert.Equal(t, 2, w.roleBindings.Len())
}

func TestAccountStaysWhereABindingCannotBeRemoved(t *testing.T) {
	w := newWorld(t)
	w.accounts.Add(&corev1.ServiceAccount{ObjectMeta: meta(hub.Agents, "r-1", owner(kindRegistration, "r", "1"))})
	w.roleBindings.Add(&rbacv1.RoleBinding{
		ObjectMeta: meta(workspace, "its", ""),
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: hub.Agents, Name: "r-1"}},
	})
	w.roleBindings.Fail = func(string, string) error { return errors.New("no") }
	require.Error(t, w.account(w.accounts.Live(hub.Agents, "r-1")))
	assert.Equal(t, 1, w.accounts.Len())
}

func TestWhatIsRemovedSaysWhoseItWas(t *testing.T) {
	gone := owner(kindRegistration, "r", "1")
	const gvk = "fleet.cattle.io/v1alpha1, Kind=ClusterRegistration"
	sets := func(id, gvk string) map[string]string {
		return map[string]string{
			"objectset.rio.cattle.io/id": id, "objectset.rio.cattle.io/owner-gvk": gvk,
			"objectset.rio.cattle.io/owner-name": "r", "objectset.rio.cattle.io/owner-namespace": workspace,
		}
	}
	setOf := func(name, namespace string) map[string]string {
		notes := sets(names.SetGrant, gvk)
		notes["objectset.rio.cattle.io/owner-name"], notes["objectset.rio.cattle.io/owner-namespace"] = name, namespace
		return notes
	}
	for name, test := range map[string]struct {
		annotations map[string]string
		unmanaged   bool
		alive       string // the UID of the registration that exists
		gone        bool
	}{
		"owner gone":                      {annotations: map[string]string{names.OwnerAnnotation: gone}, gone: true},
		"owner lives":                     {annotations: map[string]string{names.OwnerAnnotation: gone}, alive: "1"},
		"owner made anew":                 {annotations: map[string]string{names.OwnerAnnotation: gone}, alive: "2", gone: true},
		"not managed":                     {annotations: map[string]string{names.OwnerAnnotation: gone}, unmanaged: true},
		"says nothing":                    {},
		"says nothing that can be read":   {annotations: map[string]string{names.OwnerAnnotation: "r"}},
		"owner of a kind that is unknown": {annotations: map[string]string{names.OwnerAnnotation: owner("GitRepo", "r", "1")}},
		"set, owner gone":                 {annotations: sets(names.SetGrant, gvk), gone: true},
		"set, owner of that name lives":   {annotations: sets(names.SetGrant, gvk), alive: "2"},
		"set of somebody else":            {annotations: sets("fleet-workspace", gvk)},
		"set, owner of another group":     {annotations: sets(names.SetGrant, "example.com/v1, Kind=ClusterRegistration")},
		"set, owner of another kind":      {annotations: sets(names.SetGrant, "fleet.cattle.io/v1alpha1, Kind=GitRepo")},
		"owner with a path for a name":    {annotations: map[string]string{names.OwnerAnnotation: "ClusterRegistration/" + workspace + "/../1"}},
		"set, owner with another such":    {annotations: setOf("..", workspace)},
		"set, owner in no namespace":      {annotations: setOf("r", "%2e%2e")},
		"set without an owner":            {annotations: map[string]string{"objectset.rio.cattle.io/id": names.SetBootstrapData}},
		"our note counts before the set's": {annotations: func() map[string]string {
			notes := sets(names.SetGrant, gvk)
			notes[names.OwnerAnnotation] = owner(kindToken, "t", "1")
			return notes
		}(), alive: "1", gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			m := meta(workspace, "x", "")
			m.Annotations = test.annotations
			if test.unmanaged {
				m.Labels = nil
			}
			clusterScoped := *m.DeepCopy()
			clusterScoped.Namespace = ""
			w.roles.Add(&rbacv1.Role{ObjectMeta: m})
			w.roleBindings.Add(&rbacv1.RoleBinding{ObjectMeta: m})
			w.clusterRoles.Add(&rbacv1.ClusterRole{ObjectMeta: clusterScoped})
			w.clusterRoleBindings.Add(&rbacv1.ClusterRoleBinding{ObjectMeta: clusterScoped})
			if test.alive != "" {
				w.registrations.Add(registrationOf("r", test.alive))
			}
			w.round(t.Context())
			left := 4
			if test.gone {
				left = 0
			}
			assert.Equal(t, left, w.roles.Len()+w.roleBindings.Len()+w.clusterRoles.Len()+w.clusterRoleBindings.Len())
		})
	}
}

// Users' own credentials carry the managed label too: a Secret goes by its owner, its type and its place.
func TestOnlySecretsOfOursAreRemoved(t *testing.T) {
	secret := func(m metav1.ObjectMeta, kind corev1.SecretType) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: m, Type: kind}
	}
	gone := owner(kindRegistration, "r", "1")
	legacy := meta(hub.Registration, "c-legacy", "")
	legacy.Labels[names.ClusterLabel] = "c"
	unmanaged := meta(hub.Registration, "x", gone)
	unmanaged.Labels = nil
	for name, test := range map[string]struct {
		secret *corev1.Secret
		gone   bool
	}{
		"user's, managed label":                {secret: secret(meta(workspace, "user", ""), corev1.SecretTypeBasicAuth)},
		"user's, with a copied note":           {secret: secret(meta(workspace, "user", gone), corev1.SecretTypeOpaque)},
		"cluster's namespace":                  {secret: secret(meta("cluster-ns", "x", gone), names.CredentialSecretType)},
		"registration namespace, no note":      {secret: secret(meta(hub.Registration, "x", ""), corev1.SecretTypeOpaque)},
		"registration namespace, owner gone":   {secret: secret(meta(hub.Registration, "x", gone), corev1.SecretTypeServiceAccountToken), gone: true},
		"agents namespace, owner gone":         {secret: secret(meta(hub.Agents, "x", gone), corev1.SecretTypeServiceAccountToken), gone: true},
		"not managed":                          {secret: secret(unmanaged, corev1.SecretTypeOpaque)},
		"credential of an earlier version":     {secret: secret(legacy, names.CredentialSecretType), gone: true},
		"credential without any mark":          {secret: secret(meta(hub.Registration, "c-x", ""), names.CredentialSecretType)},
		"credential, owner gone, however new":  {secret: secret(meta(hub.Registration, "c-x", gone), names.CredentialSecretType), gone: true},
		"credential in another namespace":      {secret: secret(meta(workspace, "c-x", gone), names.CredentialSecretType)},
		"an Opaque one with the cluster label": {secret: secret(legacy, corev1.SecretTypeOpaque)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.secrets.Add(test.secret)
			w.round(t.Context())
			assert.Equal(t, test.gone, w.secrets.Len() == 0)
		})
	}
}

func TestCredentialStaysUntilItIsUsed(t *testing.T) {
	w := newWorld(t)
	request := registrationOf("r", "1")
	w.registrations.Add(request)
	secret := &corev1.Secret{ObjectMeta: meta(hub.Registration, "c-1", owner(kindRegistration, "r", "1")), Type: names.CredentialSecretType}
	w.secrets.Add(secret)
	w.clock.SetTime(start.Add(100 * time.Hour))
	_, err := w.onSecret("", secret)
	require.NoError(t, err)
	assert.Equal(t, 1, w.secrets.Len(), "the agent may still ask for it")

	conditions.SetCondition(&request.Status.Conditions, fleet.RegistrationConditionCredentialUsed, "True", "", "", start)
	w.registrations.Add(request)
	w.clock.SetTime(start.Add(10 * time.Minute))
	_, err = w.onSecret("", w.secrets.Live(hub.Registration, "c-1"))
	require.NoError(t, err)
	after, ok := w.secrets.After(hub.Registration, "c-1")
	assert.True(t, ok)
	assert.Equal(t, 30*time.Minute, after)
	assert.Equal(t, 1, w.secrets.Len())

	w.clock.SetTime(start.Add(40 * time.Minute))
	_, err = w.onSecret("", w.secrets.Live(hub.Registration, "c-1"))
	require.NoError(t, err)
	assert.Zero(t, w.secrets.Len())
}

func TestWhatWasMadeAnewMeanwhileStays(t *testing.T) {
	w := newWorld(t)
	before := meta(hub.Registration, "x", owner(kindRegistration, "r", "1"))
	before.UID = "before"
	after := *before.DeepCopy()
	after.UID = "after"
	w.accounts.Add(&corev1.ServiceAccount{ObjectMeta: after})
	w.secrets.Add(&corev1.Secret{ObjectMeta: after})
	w.roles.Add(&rbacv1.Role{ObjectMeta: after})
	w.roleBindings.Add(&rbacv1.RoleBinding{ObjectMeta: after})
	before.Namespace, after.Namespace = "", ""
	w.clusterRoles.Add(&rbacv1.ClusterRole{ObjectMeta: after})
	w.clusterRoleBindings.Add(&rbacv1.ClusterRoleBinding{ObjectMeta: after})
	require.NoError(t, w.clusterRole(&rbacv1.ClusterRole{ObjectMeta: before}))
	require.NoError(t, w.clusterRoleBinding(&rbacv1.ClusterRoleBinding{ObjectMeta: before}))
	before.Namespace = hub.Registration
	require.NoError(t, w.account(&corev1.ServiceAccount{ObjectMeta: before}))
	require.NoError(t, w.role(&rbacv1.Role{ObjectMeta: before}))
	require.NoError(t, w.roleBinding(&rbacv1.RoleBinding{ObjectMeta: before}))
	_, err := w.secret(&corev1.Secret{ObjectMeta: before})
	require.NoError(t, err)
	assert.Len(t, w.writes(), 6, "each was tried")
	assert.Equal(t, 6, w.accounts.Len()+w.secrets.Len()+w.roles.Len()+w.roleBindings.Len()+w.clusterRoles.Len()+w.clusterRoleBindings.Len())
}

func TestDoubtKeepsEverything(t *testing.T) {
	w := newWorld(t)
	gone := owner(kindRegistration, "r", "1")
	w.accounts.Add(&corev1.ServiceAccount{ObjectMeta: meta(hub.Agents, "x", gone)})
	w.secrets.Add(&corev1.Secret{ObjectMeta: meta(hub.Agents, "x", gone)})
	w.roles.Add(&rbacv1.Role{ObjectMeta: meta(workspace, "x", gone)})
	w.registrations.Fail = func(string, string) error { return errors.New("timeout") }
	w.round(t.Context())
	assert.Empty(t, w.writes())
	require.Error(t, w.account(w.accounts.Live(hub.Agents, "x")))
	require.Error(t, w.role(w.roles.Live(workspace, "x")))
	_, err := w.secret(w.secrets.Live(hub.Agents, "x"))
	require.Error(t, err)
}

func TestAccountElsewhereIsNotRemovedByItsNote(t *testing.T) {
	w := newWorld(t)
	w.accounts.Add(&corev1.ServiceAccount{ObjectMeta: meta(workspace, "copied", owner(kindRegistration, "r", "1"))})
	w.round(t.Context())
	assert.Equal(t, 1, w.accounts.Len())
}

// E01: after 100 clusters came and went, nothing of them is left, and what lives is not touched.
func TestNothingIsLeftOfHundredClusters(t *testing.T) {
	w := newWorld(t)
	for i := range 101 {
		c, r := fmt.Sprintf("c%d", i), fmt.Sprintf("r%d", i)
		w.clusters.Add(cluster(c, c))
		w.registrations.Add(registrationOf(r, r))
		w.namespaces.Add(clusterNamespace(c, c))
		w.accounts.Add(&corev1.ServiceAccount{ObjectMeta: meta(hub.Agents, r, owner(kindRegistration, r, r))})
		w.secrets.Add(&corev1.Secret{ObjectMeta: meta(hub.Registration, "c-"+c, owner(kindRegistration, r, r)), Type: names.CredentialSecretType})
		w.roles.Add(&rbacv1.Role{ObjectMeta: meta(hub.Registration, r, owner(kindRegistration, r, r))})
		w.roleBindings.Add(&rbacv1.RoleBinding{ObjectMeta: meta(hub.Registration, r, owner(kindRegistration, r, r))})
	}
	w.round(t.Context())
	assert.Empty(t, w.writes(), "all are alive")
	for i := range 100 {
		w.clusters.Remove(workspace, fmt.Sprintf("c%d", i))
		w.registrations.Remove(workspace, fmt.Sprintf("r%d", i))
	}
	w.round(t.Context())
	for what, left := range map[string]int{
		"namespaces": w.namespaces.Len(), "accounts": w.accounts.Len(), "secrets": w.secrets.Len(),
		"roles": w.roles.Len(), "bindings": w.roleBindings.Len(),
	} {
		assert.Equal(t, 1, left, what)
	}
	w.writes()
	w.round(t.Context())
	assert.Empty(t, w.writes())
}

func TestRoundsComeEveryTenMinutesAndEnd(t *testing.T) {
	w := newWorld(t)
	w.roles.Add(&rbacv1.Role{ObjectMeta: meta(workspace, "x", owner(kindRegistration, "r", "1"))})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan struct{})
	go func() { defer close(done); w.rounds(ctx) }()
	require.Eventually(t, w.clock.HasWaiters, 10*time.Second, time.Millisecond)
	w.clock.Step(interval - time.Second)
	assert.Equal(t, 1, w.roles.Len())
	w.clock.Step(time.Second)
	require.Eventually(t, func() bool { return w.roles.Len() == 0 }, 10*time.Second, time.Millisecond)
	cancel()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("the rounds did not end with their context")
	}
}
