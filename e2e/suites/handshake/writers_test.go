package handshake

import (
	"context"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/e2e/shim"
	"github.com/rancher/fleet/e2e/stage"
	"github.com/rancher/fleet/pkg/names"
)

// R09: an agent is held in the middle of storing its credential until another one has taken its place and stored one too.
// What the first one wrote comes last. The credential that is stored works, and the cluster has registered once.
func TestTwoAgentsThatStoreACredentialLeaveOneThatWorks(t *testing.T) {
	b := shared(t)
	p := b.ownWorkspace(t)
	release := make(chan struct{})
	held := b.edgeFront.Inject(shim.Rule{
		// The agent makes two Secrets: the one with its key, then this one.
		Match: func(r shim.Request) bool {
			return r.UserAgent == fleetAgent && r.Verb == "create" && r.Resource == "secrets" && r.Namespace == p.agents
		},
		Skip: 1, Times: 1, Before: func(shim.Request) { <-release },
	})
	defer held.Remove()
	byAgent{}.prepare(t, b, p)
	byAgent{}.begin(t, b, p)
	byAgent{}.beforeAgent(t, b, p)
	t.Cleanup(func() { b.discard(t, p) })
	first := b.run(t, b.bareAgent(p, "agent-0"))
	await(t, "the first agent to store its credential", func(context.Context) (bool, string, error) {
		return lastWrite(b.edgeFront, p.agents) == "create secrets", lastWrite(b.edgeFront, p.agents), nil
	})
	first.signal(t, syscall.SIGSTOP)

	b.run(t, b.bareAgent(p, "agent-1"))
	b.connected(t, p)
	request := b.request(t, p)
	stored := b.stored(t, p)
	close(release)
	first.signal(t, syscall.SIGCONT)
	<-held.Done()
	await(t, "the first agent to see that another one leads", func(context.Context) (bool, string, error) {
		return !first.running(), "it runs", nil
	})

	require.Equal(t, stored, b.stored(t, p), "what the second agent stored")
	require.NoError(t, first.up(until(t)), "and the first one stands by")
	require.Equal(t, request.UID, b.request(t, p).UID)
	b.connected(t, p)
}

func (b *bed) bareAgent(p place, pod string) func(context.Context) (*proc.Process, error) {
	return func(ctx context.Context) (*proc.Process, error) {
		return b.StartBareAgent(ctx, b.edge, p.agents, pod, bare()...)
	}
}

// lastWrite is what an agent wrote last in its namespace.
func lastWrite(front *shim.TLS, namespace string) string {
	last, secrets := "", 0
	for _, r := range writesBy(front, fleetAgent, 0) {
		if r.Namespace != namespace || r.Resource != "secrets" {
			continue
		}
		if last = r.Verb + " " + r.Resource; r.Verb == "create" {
			secrets++
		}
	}
	if secrets < 2 {
		return ""
	}
	return last
}

// stored is the credential that an agent has stored.
func (b *bed) stored(t *testing.T, p place) map[string][]byte {
	t.Helper()
	secret, err := b.edge.Kube.CoreV1().Secrets(p.agents).Get(t.Context(), names.AgentCredentialStore, metav1.GetOptions{})
	require.NoError(t, err)
	return secret.Data
}

// R09: a credential takes the place of another in one write; at no moment is there none, or half of one.
func TestACredentialIsReplacedInOneWrite(t *testing.T) {
	b := shared(t)
	p := b.ownWorkspace(t)
	b.join(t, byManager{}, p)
	first := b.request(t, p)
	before := b.stored(t, p)
	seen, err := b.edge.Kube.CoreV1().Secrets(p.agents).Watch(t.Context(), metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", names.AgentCredentialStore).String(),
	})
	require.NoError(t, err)
	defer seen.Stop()

	account := names.Account(first.Name, string(first.UID))
	require.NoError(t, b.Hub.Kube.CoreV1().ServiceAccounts(stage.AgentsNamespace).Delete(t.Context(), account, metav1.DeleteOptions{}))
	b.request(t, p, first)
	b.connected(t, p)

	writes := 0
	for last := before; writes < 1; {
		select {
		case <-until(t).Done():
			t.Fatal("no other credential was stored")
		case event := <-seen.ResultChan():
			require.NotEqual(t, watch.Deleted, event.Type)
			secret, ok := event.Object.(*corev1.Secret)
			require.True(t, ok, "%v", event.Object)
			require.Len(t, secret.Data, len(before), "the keys of a whole credential")
			if string(secret.Data["kubeconfig"]) != string(last["kubeconfig"]) {
				last = secret.Data
				writes++
			}
		}
	}
}
