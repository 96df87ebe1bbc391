package clusterimport

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/registration"
)

// An agent is removed from a namespace that is ours or nobody's, and the mark goes last.
func TestOnlyWhatIsOursOrUnmarkedIsRemoved(t *testing.T) {
	own := registration.AgentOwner{Hub: hubUID, Cluster: edgeUID, Namespace: workspace, Name: edge}.Annotation()
	theirs := registration.AgentOwner{Hub: anotherHub, Cluster: "c", Namespace: "ws", Name: "n"}.Annotation()
	for name, test := range map[string]struct {
		value string
		goes  bool
	}{
		"ours": {own, true}, "nobody's": {"", true}, "another's": {theirs, false}, "unreadable": {"{", false},
	} {
		t.Run(name, func(t *testing.T) {
			h, d := newHub(t), newDownstream(t)
			d.put(everything("old")...)
			d.mark(t, "old", test.value)
			before := d.objects()
			d.Reset()
			left, err := h.vacateFor(t, d, "old")
			require.NoError(t, err)
			assert.Equal(t, test.goes, left)
			if !test.goes {
				assert.Equal(t, before, d.objects())
				assert.Empty(t, d.Writes())
				return
			}
			assert.Equal(t, []string{"Namespace /old"}, d.objects())
			assert.Empty(t, d.Object("Namespace", "", "old").GetAnnotations())
			left, err = h.vacateFor(t, d, "old")
			require.NoError(t, err)
			assert.True(t, left, "a second time is no error")
		})
	}
}

func TestWhatLiesBesideANamespaceThatIsGoneIsRemoved(t *testing.T) {
	h, d := newHub(t), newDownstream(t)
	d.put(everything("old")...)
	left, err := h.vacateFor(t, d, "old")
	require.NoError(t, err)
	assert.True(t, left)
	assert.Empty(t, d.objects())
}

// The mark is taken off for the version that was looked at: what another took meanwhile stays marked.
func TestTheMarkIsTakenOffOnlyWhileItIsOurs(t *testing.T) {
	own := registration.AgentOwner{Hub: hubUID, Cluster: edgeUID, Namespace: workspace, Name: edge}.Annotation()
	theirs := registration.AgentOwner{Hub: anotherHub, Cluster: "c", Namespace: "ws", Name: "n"}.Annotation()
	for name, test := range map[string]struct {
		value string
		left  bool
	}{"another took it": {theirs, false}, "somebody labelled it": {own, true}} {
		t.Run(name, func(t *testing.T) {
			h, d := newHub(t), newDownstream(t)
			d.mark(t, "old", own)
			var once bool
			d.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPatch && !once {
					once = true
					d.mark(t, "old", test.value+" ") // white space is no difference, but a new version
				}
				return false
			})
			left, err := h.vacateFor(t, d, "old")
			require.NoError(t, err)
			assert.Equal(t, test.left, left)
			assert.Equal(t, test.left, len(d.Object("Namespace", "", "old").GetAnnotations()) == 0)
		})
	}
}

func TestALeftNamespaceThatIsAnothersIsForgotten(t *testing.T) {
	h, d := joined(t)
	h.change(t, func(c *fleet.Cluster) { c.Spec.AgentNamespace = "agents" })
	h.importNow(t)
	d.mark(t, system, registration.AgentOwner{Hub: anotherHub, Cluster: "c", Namespace: "ws", Name: "n"}.Annotation())
	before := d.objects()
	h.change(t, connectedNow(h))
	d.Reset()

	h.work1(t)

	assert.Empty(t, record(t, h).Previous)
	assert.Equal(t, before, d.objects())
	assert.Empty(t, d.Writes())
}

func TestTheLocalAgentsMarkGoesWithIt(t *testing.T) {
	h, d := localHub(t, func(d *downstream) string { return d.uid })
	d.mark(t, system, h.me(h.clusters.Live("fleet-local", "local")).Annotation())
	require.NoError(t, h.work(t.Context(), localKey))
	assert.Equal(t, []string{"Namespace /" + system}, d.objects())
	assert.Zero(t, d.ownerIn(system))

	h, d = localHub(t, func(d *downstream) string { return d.uid })
	d.mark(t, system, registration.AgentOwner{Hub: anotherHub, Cluster: "c", Namespace: "ws", Name: "n"}.Annotation())
	before := d.objects()
	require.NoError(t, h.work(t.Context(), localKey))
	assert.Equal(t, before, d.objects())
	c := conditions.GetCondition(h.clusters.Live("fleet-local", "local").Status.Conditions, fleet.ClusterConditionImported)
	assert.Equal(t, "LocalAgentDisabled", c.Reason)
	assert.Contains(t, c.Message, "left alone")
}

// It ends in the middle of an import whose Cluster was deleted: nothing more is put there.
func TestAnImportOfAClusterThatIsGoneEnds(t *testing.T) {
	h, d := joined(t)
	h.change(t, func(c *fleet.Cluster) { c.Spec.RedeployAgentGeneration = 1 })
	h.work1(t)
	h.answerToken(t)
	d.Reset()
	d.Intercept(func(http.ResponseWriter, *http.Request) bool {
		h.clusters.Remove(workspace, edge)
		return false
	})
	require.NoError(t, h.work(t.Context(), key))
	assert.Empty(t, d.Writes())
}
