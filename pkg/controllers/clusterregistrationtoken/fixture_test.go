package clusterregistrationtoken

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/controllers/controllertest"
	"github.com/rancher/fleet/pkg/desired"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

var (
	start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	hub   = names.NamespacesOf(names.DefaultSystemNamespace)
)

func token(name string, ttl time.Duration) *fleet.ClusterRegistrationToken {
	t := &fleet.ClusterRegistrationToken{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "fleet-default", UID: types.UID(name + "-uid"), CreationTimestamp: metav1.NewTime(start),
	}}
	if ttl != 0 {
		t.Spec.TTL = &metav1.Duration{Duration: ttl}
	}
	return t
}

// jwt is a token as the API server makes them, but for its signature.
func jwt(account string, uid types.UID, issued, expires time.Time) string {
	claims := map[string]any{
		"sub": names.AccountUser(hub.Registration, account),
		"kubernetes.io": map[string]any{
			"namespace":      hub.Registration,
			"serviceaccount": map[string]any{"name": account, "uid": uid},
		},
	}
	if !issued.IsZero() {
		claims["iat"] = issued.Unix()
	}
	if !expires.IsZero() {
		claims["exp"] = expires.Unix()
	}
	payload, _ := json.Marshal(claims)
	return "e30." + base64.RawURLEncoding.EncodeToString(payload) + ".c2ln"
}

// valuesOf reads the document of a token's Secret.
func valuesOf(t *testing.T, secret *corev1.Secret) registration.Bootstrap {
	t.Helper()
	require.NotNil(t, secret)
	values, err := registration.ParseValues(secret.Data[registration.KeyValues])
	if values.APIServerURL != "" {
		require.NoError(t, err)
	}
	return values
}

// world is a hub in memory with this controller.
type world struct {
	*handler
	clock    *clocktesting.FakePassiveClock
	tokens   *controllertest.Controller[*fleet.ClusterRegistrationToken, *fleet.ClusterRegistrationTokenList]
	accounts *controllertest.Controller[*corev1.ServiceAccount, *corev1.ServiceAccountList]
	secrets  *controllertest.Controller[*corev1.Secret, *corev1.SecretList]
	set      *fakeSet
	events   *record.FakeRecorder
	minted   int
	// limit is the longest life that the API server grants, 0 for any.
	limit time.Duration
	fail  error
	proof proof
}

// proof is what the hub is to know of the origin of requests.
type proof struct{ registration.Provenance }

func (p *proof) Current() registration.Provenance { return p.Provenance }

func (p *proof) Subscribe(func()) {}

func newWorld(t *testing.T, document string) *world {
	t.Helper()
	w := &world{
		clock:    clocktesting.NewFakePassiveClock(start.Add(time.Second)),
		tokens:   controllertest.New[*fleet.ClusterRegistrationToken, *fleet.ClusterRegistrationTokenList](fleet.SchemeGroupVersion.Group, "clusterregistrationtokens"),
		accounts: controllertest.New[*corev1.ServiceAccount, *corev1.ServiceAccountList]("", "serviceaccounts"),
		secrets:  controllertest.New[*corev1.Secret, *corev1.SecretList]("", "secrets"),
		events:   record.NewFakeRecorder(10),
	}
	w.set = &fakeSet{accounts: w.accounts}
	source := config.NewSource("dev")
	w.handler = &handler{
		Deps: Deps{
			Tokens: w.tokens, Accounts: w.accounts, Secrets: w.secrets,
			Config: source, Clock: w.clock, Events: w.events, Names: hub, Provenance: &w.proof,
		},
		ctx:  t.Context(),
		set:  w.set,
		mint: w.mintFor,
	}
	w.configure(t, document)
	w.tokens.Cache().AddIndexer(tokensByPart, w.partKeys)
	return w
}

func (w *world) configure(t *testing.T, document string) {
	t.Helper()
	_, err := w.Config.Load(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{names.VersionAnnotation: "dev"}},
		Data:       map[string]string{names.ConfigKey: document},
	})
	require.NoError(t, err)
}

func (w *world) mintFor(_ context.Context, namespace, account string, life time.Duration) (kube.Minted, error) {
	if w.fail != nil {
		return kube.Minted{}, w.fail
	}
	sa := w.accounts.Live(namespace, account)
	if sa == nil {
		return kube.Minted{}, errors.New("no such account")
	}
	w.minted++
	life = max(life, kube.MinLifetime)
	if w.limit > 0 {
		life = min(life, w.limit)
	}
	now := w.clock.Now()
	return kube.Minted{Token: jwt(account, sa.UID, now, now.Add(life)), Expires: now.Add(life)}, nil
}

// pass runs the handler for a token as the cache has it.
func (w *world) pass(name string) error {
	obj, err := w.tokens.Cache().Get("fleet-default", name)
	if err != nil {
		obj = nil
	}
	_, err = w.onChange("fleet-default/"+name, obj)
	return err
}

func (w *world) writes() []string {
	return append(append(w.tokens.Writes(), w.accounts.Writes()...), w.secrets.Writes()...)
}

func (w *world) secretOf(name string) *corev1.Secret { return w.secrets.Live("fleet-default", name) }

func (w *world) liveToken(name string) *fleet.ClusterRegistrationToken {
	return w.tokens.Live("fleet-default", name)
}

// fakeSet makes accounts, which the rest depends on, and counts roles.
type fakeSet struct {
	accounts *controllertest.Controller[*corev1.ServiceAccount, *corev1.ServiceAccountList]
	applied  []runtime.Object
	removed  []string
	err      error
}

func (s *fakeSet) Apply(_ context.Context, _ desired.Owner, objs ...runtime.Object) error {
	if s.err != nil {
		return s.err
	}
	s.applied = objs
	for _, obj := range objs {
		sa, ok := obj.(*corev1.ServiceAccount)
		if ok && s.accounts.Live(sa.Namespace, sa.Name) == nil {
			if _, err := s.accounts.Create(sa); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *fakeSet) Remove(_ context.Context, gvk schema.GroupVersionKind, namespace, name string) error {
	if s.err != nil {
		return s.err
	}
	s.removed = append(s.removed, gvk.Kind+" "+namespace+"/"+name)
	for _, obj := range s.applied {
		if sa, ok := obj.(*corev1.ServiceAccount); ok {
			s.accounts.Remove(sa.Namespace, sa.Name)
		}
	}
	return nil
}

func roleOf(t *testing.T, objs []runtime.Object) *rbacv1.Role {
	t.Helper()
	for _, obj := range objs {
		if role, ok := obj.(*rbacv1.Role); ok {
			return role
		}
	}
	require.Fail(t, "no Role")
	return nil
}

// event is the event that was just sent; it does not wait for one.
func (w *world) event(t *testing.T) string {
	t.Helper()
	select {
	case event := <-w.events.Events:
		return event
	default:
		require.Fail(t, "no event")
		return ""
	}
}
