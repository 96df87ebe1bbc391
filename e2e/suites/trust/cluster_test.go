package trust_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// cluster is one that the hub imports, with an agent in a namespace of its own.
type cluster struct {
	*bed
	place
	name  string
	agent *proc.Process
}

// kubeconfig is how the hub reaches the downstream cluster: by a shim's address and CA, or the API server's own.
func (b *bed) kubeconfig(t *testing.T, server string, ca []byte) []byte {
	t.Helper()
	token, err := b.edge.AdminToken()
	require.NoError(t, err)
	kubeconfig, err := lab.Kubeconfig{Name: "edge", Server: server, CA: ca, Token: token}.Bytes()
	require.NoError(t, err)
	return kubeconfig
}

// manage writes a Cluster with its kubeconfig secret. More keys of the secret, or others, come from data.
func (b *bed) manage(t *testing.T, name string, data map[string][]byte, change ...func(*fleet.Cluster)) *cluster {
	t.Helper()
	c := &cluster{bed: b, place: newPlace(), name: name}
	require.NoError(t, b.EnsureNamespace(t.Context(), c.workspace))
	all := map[string][]byte{"value": b.kubeconfig(t, b.edge.URL, b.edge.CA())}
	for key, value := range data {
		all[key] = value
	}
	_, err := b.Hub.Kube.CoreV1().Secrets(c.workspace).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Data: all,
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	obj := &fleet.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.workspace, Name: name},
		Spec:       fleet.ClusterSpec{KubeConfigSecret: name, AgentNamespace: c.agents},
	}
	for _, f := range change {
		f(obj)
	}
	require.NoError(t, stage.Create(t.Context(), b.Hub, stage.Clusters, "Cluster", c.workspace, obj))
	c.deleteAtEnd(t, name)
	return c
}

// deleteAtEnd takes a Cluster away with its test: one without its agent would be healed for as long as the hub lives.
func (c *cluster) deleteAtEnd(t *testing.T, name string) {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		err := c.Hub.Dynamic.Resource(stage.Clusters).Namespace(c.workspace).Delete(ctx, name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("cleaning up: %v", err)
		}
		require.NoError(t, stage.Await(ctx, "cluster "+name+" to be gone", func(ctx context.Context) (bool, string, error) {
			found, err := stage.Get[fleet.Cluster](ctx, c.Hub, stage.Clusters, c.workspace, name)
			return found == nil, "still there", err
		}))
	})
}

// rewrite changes keys of the kubeconfig secret; nil takes one out.
func (c *cluster) rewrite(t *testing.T, changes map[string][]byte) {
	t.Helper()
	secrets := c.Hub.Kube.CoreV1().Secrets(c.workspace)
	secret, err := secrets.Get(t.Context(), c.name, metav1.GetOptions{})
	require.NoError(t, err)
	for key, value := range changes {
		if secret.Data[key] = value; value == nil {
			delete(secret.Data, key)
		}
	}
	_, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
	require.NoError(t, err)
}

// patch changes the Cluster's spec by a merge.
func (c *cluster) patch(t *testing.T, spec string) {
	t.Helper()
	_, err := c.Hub.Dynamic.Resource(stage.Clusters).Namespace(c.workspace).Patch(t.Context(), c.name,
		types.MergePatchType, []byte(`{"spec":`+spec+`}`), metav1.PatchOptions{})
	require.NoError(t, err)
}

// start runs the agent as its Deployment says, and ends it with the test.
func (c *cluster) start(t *testing.T, env ...string) {
	t.Helper()
	process, err := c.StartAgent(until(t), c.edge, c.agents, "agent-"+c.agents, env...)
	require.NoError(t, err)
	c.keep(t, process)
}

func (c *cluster) keep(t *testing.T, process *proc.Process) {
	c.agent = process
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("--- the end of the log of %s\n%s", process.Name, process.Tail(60))
		}
		stop(t, process)
	})
}

func stop(t *testing.T, process *proc.Process) {
	t.Helper()
	if process.Running() {
		_, err := process.Stop(grace)
		require.NoError(t, err)
	}
}

// restart is what happens to a pod whose Deployment has another template.
func (c *cluster) restart(t *testing.T, env ...string) {
	t.Helper()
	stop(t, c.agent)
	c.start(t, env...)
}

func (c *cluster) connected(t *testing.T) *fleet.Cluster {
	t.Helper()
	found, err := c.AwaitConnected(until(t), c.workspace, c.name)
	require.NoError(t, err)
	return found
}

// joins waits until the agent has registered, and returns the registration's UID.
func (c *cluster) joins(t *testing.T) types.UID {
	t.Helper()
	return c.joinsAgain(t, "")
}

// joinsAgain waits for a registration in use that is not the earlier one, for the end of all others, and for heartbeats.
func (c *cluster) joinsAgain(t *testing.T, earlier types.UID) types.UID {
	t.Helper()
	var uid types.UID
	await(t, "one registration of "+c.name+" that is in use and new", func(ctx context.Context) (bool, string, error) {
		all, err := stage.List[fleet.ClusterRegistration](ctx, c.Hub, stage.Registrations, c.workspace)
		if err != nil || len(all) != 1 {
			return false, fmt.Sprintf("%d registrations", len(all)), err
		}
		uid = all[0].UID
		used := stage.IsTrue(all[0].Status.Conditions, fleet.RegistrationConditionCredentialUsed)
		return uid != earlier && used, stage.Conditions(all[0].Status.Conditions), nil
	})
	c.connected(t)
	return uid
}

// registration is the UID of the one registration that there is.
func (c *cluster) registration(t *testing.T) types.UID {
	t.Helper()
	all, err := stage.List[fleet.ClusterRegistration](t.Context(), c.Hub, stage.Registrations, c.workspace)
	require.NoError(t, err)
	require.Len(t, all, 1)
	return all[0].UID
}

// says waits for a warning Event of the agent whose message has all parts.
func (c *cluster) says(t *testing.T, reason string, parts ...string) {
	t.Helper()
	await(t, fmt.Sprintf("an Event %s of the agent in %s with %q", reason, c.agents, parts), func(ctx context.Context) (bool, string, error) {
		events, err := c.edge.Kube.CoreV1().Events(c.agents).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, "", err
		}
		var seen []string
		for _, event := range events.Items {
			if event.Type == corev1.EventTypeWarning && event.Reason == reason && containsAll(event.Message, parts) {
				return true, "", nil
			}
			seen = append(seen, event.Reason+": "+event.Message)
		}
		return false, strings.Join(seen, "; "), nil
	})
}

func containsAll(text string, parts []string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
}
