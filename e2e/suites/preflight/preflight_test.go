package preflight_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/certs"
	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

const workspace = "fleet-default"

func TestWhatACheckSaysIsWhatComes(t *testing.T) {
	s := newBed(t)
	require.NoError(t, s.EnsureNamespace(t.Context(), workspace))
	t.Run("kubeconfigs", func(t *testing.T) { kubeconfigs(t, s) })
	t.Run("the least rights import", func(t *testing.T) { leastRights(t, s) })
	t.Run("a missing right does not", func(t *testing.T) { missingRight(t, s) })
	t.Run("values", func(t *testing.T) { tokenValues(t, s) })
}

func kubeconfigs(t *testing.T, s *stage.Stage) {
	byToken := admin(t, s)
	byCertificate, err := s.Hub.ClientCertKubeconfig("jane", time.Hour, "system:masters")
	require.NoError(t, err)
	viewer := importer(t, s, "viewer", []rbacv1.PolicyRule{rule("", []string{"namespaces"}, "get")}, "", nil)
	stranger, err := certs.NewAuthority("stranger")
	require.NoError(t, err)
	untrusted, refused, misnamed := byToken, byToken, byToken
	untrusted.CA, refused.Token = stranger.Cert, "nobody's"
	misnamed.Server = "https://nowhere.invalid"
	for title, test := range map[string]struct {
		kubeconfig lab.Kubeconfig
		failed     []string
		says       string
	}{
		"an administrator's token":       {byToken, nil, ""},
		"an administrator's certificate": {byCertificate, nil, ""},
		"a viewer":                       {viewer, []string{"permissions"}, "create on namespaces"},
		"a CA that is another's":         {untrusted, []string{"tls"}, "not trusted"},
		"a token that is nobody's":       {refused, []string{"authentication"}, "401"},
		"a name that is unknown":         {misnamed, []string{"dns"}, "cannot be resolved"},
	} {
		t.Run(title, func(t *testing.T) {
			r := checked(t, s, bytesOf(t, test.kubeconfig), "--kubeconfig", s.Hub.Kubeconfig())
			assert.Equal(t, test.failed, r.ended("failed"), "%+v", r)
			if len(test.failed) > 0 {
				assert.Contains(t, r.of(t, test.failed[0]).Found, test.says)
				return
			}
			assert.Equal(t, "ok", r.of(t, "tls").Result)
			assert.Contains(t, r.of(t, "version").Found, "v1.")
			assert.Contains(t, r.of(t, "hub-address").Found, s.HubURL)
			assert.Equal(t, []string{"agent"}, r.ended("warning"), "%+v", r)
			assert.Contains(t, r.of(t, "agent").Found, "a hub itself", "which it is in this suite")
		})
	}
}

// imported writes the Cluster of a kubeconfig and waits until its import has come to an end.
func imported(t *testing.T, s *stage.Stage, name, namespace string, kubeconfig []byte) (reason, message string) {
	t.Helper()
	_, err := s.Hub.Kube.CoreV1().Secrets(workspace).Create(t.Context(), &corev1.Secret{
		ObjectMeta: named(workspace, name), Data: map[string][]byte{"value": kubeconfig},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, stage.Create(t.Context(), s.Hub, stage.Clusters, "Cluster", workspace, &fleet.Cluster{
		ObjectMeta: named(workspace, name), Spec: fleet.ClusterSpec{KubeConfigSecret: name, AgentNamespace: namespace},
	}))
	_, err = s.AwaitCluster(until(t), workspace, name, "an import", func(c *fleet.Cluster) bool {
		condition := stage.Condition(c.Status.Conditions, "Imported")
		if condition == nil || condition.Status == corev1.ConditionUnknown {
			return false
		}
		reason, message = condition.Reason, condition.Message
		return true
	})
	require.NoError(t, err)
	return reason, message
}

func leastRights(t *testing.T, s *stage.Stage) {
	everywhere, there := least()
	const namespace = "agents-least"
	kubeconfig := bytesOf(t, importer(t, s, "least", everywhere, namespace, there))

	r := checked(t, s, kubeconfig, "--agent-namespace", namespace)
	assert.Empty(t, r.ended("failed"), "%+v", r)

	reason, message := imported(t, s, "least", namespace, kubeconfig)
	assert.Equal(t, "Imported", reason, message)

	// Now there is an agent, and it is that of a Cluster.
	r = checked(t, s, kubeconfig, "--agent-namespace", namespace)
	assert.Equal(t, []string{"agent"}, r.ended("warning"))
	assert.Contains(t, r.of(t, "agent").Found, "Cluster "+workspace+"/least")
	r = checked(t, s, bytesOf(t, admin(t, s)), "--agent-namespace", namespace, "--kubeconfig", s.Hub.Kubeconfig())
	assert.Equal(t, []string{"agent"}, r.ended("warning"), "%+v", r)
	assert.Contains(t, r.of(t, "agent").Found, "Cluster "+workspace+"/least")
}

func missingRight(t *testing.T, s *stage.Stage) {
	everywhere, there := least()
	const namespace = "agents-less"
	for i := range there {
		if there[i].Resources[0] == "deployments" {
			there[i].Verbs = []string{"list", "get", "patch", "delete"}
		}
	}
	kubeconfig := bytesOf(t, importer(t, s, "less", everywhere, namespace, there))

	r := checked(t, s, kubeconfig, "--agent-namespace", namespace)
	assert.Equal(t, []string{"permissions"}, r.ended("failed"), "%+v", r)
	assert.Contains(t, r.of(t, "permissions").Found, "create on deployments.apps in namespace "+namespace)

	reason, message := imported(t, s, "less", namespace, kubeconfig)
	assert.Equal(t, "Forbidden", reason, message)
	assert.Contains(t, message, "deployments")
}

func tokenValues(t *testing.T, s *stage.Stage) {
	values, err := s.NewToken(until(t), workspace, "edge", fleet.ClusterRegistrationTokenSpec{TTL: &metav1.Duration{Duration: time.Hour}})
	require.NoError(t, err)
	document := asYAML(t, values)

	r := checked(t, s, document, "--kubeconfig", s.Hub.Kubeconfig(), "--agent-namespace", "agents-new")
	assert.Equal(t, "values", r.Input)
	assert.Empty(t, r.ended("failed"), "%+v", r)
	for _, name := range []string{"tls", "token", "authentication", "hub", "permissions", "version", "cluster.permissions", "cluster.namespace", "cluster.objects"} {
		assert.Equal(t, "ok", r.of(t, name).Result, "%+v", r.of(t, name))
	}

	moved := asYAML(t, merged(values, map[string]any{"clusterNamespace": "elsewhere"}))
	assert.Equal(t, []string{"permissions"}, checked(t, s, moved).ended("failed"), "the token is for its own workspace")

	require.NoError(t, s.Hub.Dynamic.Resource(stage.Tokens).Namespace(workspace).Delete(t.Context(), "edge", metav1.DeleteOptions{}))
	require.NoError(t, stage.Await(until(t), "the end of the token", func(context.Context) (bool, string, error) {
		r = checked(t, s, document)
		return len(r.ended("failed")) > 0, "it still works", nil
	}))
	assert.Contains(t, []string{"authentication", "permissions"}, r.ended("failed")[0], "first the rights go, and then the account")
}

func merged(layers ...map[string]any) map[string]any {
	all := map[string]any{}
	for _, layer := range layers {
		for key, value := range layer {
			all[key] = value
		}
	}
	return all
}
