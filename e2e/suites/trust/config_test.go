package trust_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// T07: a hub is installed without a CA, its agents trust the system's roots; the CA comes later. Who takes it from the
// configuration gets it, once; who has one of its own is left alone.
func TestACAThatIsConfiguredLaterReachesExactlyTheClustersThatUseIt(t *testing.T) {
	b := ofTheBed(t)
	b.configured(t, map[string]any{"agentTLSMode": "system-store", "apiServerCA": ""})
	roots := filepath.Join(t.TempDir(), "roots.pem")
	require.NoError(t, os.WriteFile(roots, b.front.CA(), 0o600))
	system := []string{"SSL_CERT_FILE=" + roots, "SSL_CERT_DIR=" + t.TempDir()}

	own := b.manage(t, "own", map[string][]byte{"apiServerURL": []byte(b.front.URL()), "apiServerCA": b.front.CA()})
	one, two := b.manage(t, "one", nil), b.manage(t, "two", nil)
	own.start(t) // it has no need of the system's roots
	one.start(t, system...)
	two.start(t, system...)
	ownWas, oneWas, twoWas := own.joins(t), one.joins(t), two.joins(t)
	before := b.joinCounts(t)

	b.configure(t, map[string]any{"agentTLSMode": "system-store"})
	one.joinsAgain(t, oneWas)
	two.joinsAgain(t, twoWas)
	time.Sleep(window) // the window in which nothing more may happen
	require.Equal(t, ownWas, own.registration(t), "a cluster with a CA of its own is not touched")
	after := b.joinCounts(t).Sub(before)
	require.Equal(t, 2, after.Total(), "requests for registration, one for each cluster that uses the configuration's CA:\n%s", after)
}

// A hub whose agents are to trust the given CA alone has none: that is said of each cluster that needs it, which is left
// alone until then. Who has a CA of its own joins, and who has joined stays.
func TestAHubWithoutACAImportsOnlyTheClustersThatHaveOne(t *testing.T) {
	b := ofTheBed(t)
	old := b.manage(t, "old", nil)
	old.start(t)
	oldWas := old.joins(t)
	b.configured(t, map[string]any{"apiServerCA": ""})
	own := b.manage(t, "own", map[string][]byte{"apiServerURL": []byte(b.front.URL()), "apiServerCA": b.front.CA()})
	bare := b.manage(t, "bare", nil)
	own.start(t)
	own.joins(t)
	_, err := b.AwaitCluster(until(t), bare.workspace, bare.name, "Imported=False NoServerCA", func(found *fleet.Cluster) bool {
		condition := stage.Condition(found.Status.Conditions, fleet.ClusterConditionImported)
		return condition != nil && condition.Reason == "NoServerCA" && strings.Contains(condition.Message, bare.workspace+"/"+bare.name)
	})
	require.NoError(t, err)
	_, err = bare.edge.Kube.CoreV1().Secrets(bare.agents).Get(t.Context(), names.AgentBootstrapSecret, metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "nothing is put there: %v", err)

	b.configure(t, nil)
	bare.start(t)
	bare.joins(t)
	require.Equal(t, oldWas, old.registration(t), "who has joined is not touched")
}

// joinCounts are the requests for registration.
func (b *bed) joinCounts(t *testing.T) count.Counts {
	t.Helper()
	counts, err := b.Hub.Requests()
	require.NoError(t, err)
	return counts.Where(count.On("fleet.cattle.io", "clusterregistrations"), count.Verb("create"))
}
