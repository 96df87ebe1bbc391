package manageagent

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/fleet/pkg/agentbundle"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
)

// reconciled is what condition Reconciled of a cluster says.
func (w *waves) reconciled(i int) string {
	c := conditions.GetCondition(w.cluster(i).Status.Conditions, fleet.ClusterConditionReconciled)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason + " " + c.Message
}

func (w *waves) bundle(i int) *fleet.Bundle {
	return w.written.Live(workspace, names.AgentBundle(w.cluster(i).Name))
}

func (w *waves) edit(i int, f func(*fleet.Bundle)) {
	b := w.bundle(i)
	f(b)
	w.written.Add(b)
}

// editing are changes that somebody may make of an agent's bundle.
var editing = map[string]func(*fleet.Bundle){
	"resources":   func(b *fleet.Bundle) { b.Spec.Resources[0].Content = "kind: Evil" },
	"a chart":     func(b *fleet.Bundle) { b.Spec.Helm.Chart = "oci://elsewhere/evil" },
	"all targets": func(b *fleet.Bundle) { b.Spec.Targets = []fleet.BundleTarget{{ClusterName: "c1"}} },
	"and its mark": func(b *fleet.Bundle) {
		b.Spec.Resources[0].Content = "kind: Evil"
		b.Annotations[names.AgentUpgradeAnnotation] = mark{Generation: "evil"}.String()
	},
}

func TestAnAgentsBundleThatSomebodyChangedIsPutBackWhole(t *testing.T) {
	for name, edit := range editing {
		w := newWaves(t, 1)
		want := w.bundle(0).Spec
		w.edit(0, edit)
		w.look(0)
		assert.Equal(t, want, w.bundle(0).Spec, "%s: also what an apply would leave", name)
		assert.Equal(t, w.wants(0), w.mark(0).Generation, name)
		assert.Contains(t, w.reconciled(0), "False AgentBundleChanged somebody changed Bundle fleet-agent-c0", name)
		w.look(0)
		assert.Equal(t, "True  ", w.reconciled(0), name)
		w.written.Writes()
		w.look(0)
		assert.Empty(t, w.written.Writes(), name)
	}
}

// One that waits for its turn cannot be given again what it had; to be put right is its own matter.
func TestAChangedBundleIsPutRightWithoutWaitingForItsTurn(t *testing.T) {
	for name, edit := range editing {
		w := newWaves(t, 3)
		w.load(newImage)
		w.lookAll(3)
		require.Equal(t, []int{0}, w.given(3), name)
		w.edit(2, edit)
		w.look(2)
		w.look(2)
		assert.Equal(t, agentbundle.Written, w.Agents.Judge(w.cluster(2), agentbundle.Digest(w.bundle(2).Spec)), name)
		assert.Equal(t, []int{0, 2}, w.given(3), name)
		assert.False(t, w.mark(2).Waved, name)
	}
}

// A hub that has just started wrote nothing that it knows of.
func TestWhatWasChangedWhileNoHubRanIsPutBack(t *testing.T) {
	w := newWaves(t, 1)
	want := w.bundle(0).Spec
	w.edit(0, func(b *fleet.Bundle) { b.Spec.Helm.Chart = "oci://elsewhere/evil" })
	w.Agents = agentbundle.NewLedger()
	w.look(0)
	assert.Equal(t, want, w.bundle(0).Spec)
}

// What the hub before it wrote is nobody's doing, also where the cache still shows it after the first write of the new one.
func TestAHubThatStartsAccusesNobodyOfWhatItFinds(t *testing.T) {
	w := newWaves(t, 1)
	w.Agents = agentbundle.NewLedger()
	w.load(newImage)
	w.written.Lag = true
	for range 3 {
		w.look(0)
		assert.NotContains(t, w.reconciled(0), "AgentBundleChanged")
	}
	w.written.Sync()
	w.look(0)
	assert.Equal(t, w.wants(0), w.mark(0).Generation)
	assert.NotContains(t, w.reconciled(0), "AgentBundleChanged")
}

func TestABundleThatCannotBePutBackIsTriedAgain(t *testing.T) {
	for name, test := range map[string]struct {
		answer error
		fails  bool
	}{
		"a conflict": {apierrors.NewConflict(schema.GroupResource{}, "fleet-agent-c0", errors.New("stale")), false},
		"an outage":  {errors.New("no"), true},
	} {
		w := newWaves(t, 1)
		w.edit(0, editing["resources"])
		w.written.Fail = func(verb, _ string) error {
			if verb == "update" {
				return test.answer
			}
			return nil
		}
		_, err := w.onChange(workspace+"/c0", w.cluster(0))
		assert.Equal(t, test.fails, err != nil, name)
		assert.NotEqual(t, agentbundle.Written, w.Agents.Judge(w.cluster(0), agentbundle.Digest(w.bundle(0).Spec)), name)
	}
}

func TestAClusterThatIsGoneIsForgotten(t *testing.T) {
	w := newWaves(t, 1)
	c := w.cluster(0)
	digest := agentbundle.Digest(w.bundle(0).Spec)
	require.Equal(t, agentbundle.Written, w.Agents.Judge(c, digest))
	_, err := w.onChange(workspace+"/c0", nil)
	require.NoError(t, err)
	assert.Equal(t, agentbundle.Unknown, w.Agents.Judge(c, digest))
}
