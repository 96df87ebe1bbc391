package clusterimport

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

func leavingMark(of registration.AgentOwner) string {
	of.Leaving = true
	return of.Annotation()
}

// atLook does something right before the namespace "old" is looked at for the n-th time. It returns how often it was.
func (d *downstream) atLook(n int, act func()) *int {
	looks := new(int)
	d.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/namespaces/old") {
			if *looks++; *looks == n {
				act()
			}
		}
		return false
	})
	return looks
}

// looksOfARemoval is how often a removal looks at the namespace: first, before each part, and before the mark.
func looksOfARemoval(t *testing.T) int {
	t.Helper()
	h, d := newHub(t), newDownstream(t)
	client, err := h.connect(h.client(t, d))
	require.NoError(t, err)
	defer client.Close()
	return 1 + len(agentParts(client.Clients, "old")) + 1
}

// Another hub's import takes the namespace over while the old agent is removed, at whatever moment: its agent is spared.
func TestAnAgentThatAnotherPutsThereMeanwhileIsSpared(t *testing.T) {
	own := registration.AgentOwner{Hub: hubUID, Cluster: edgeUID, Namespace: workspace, Name: edge}
	theirs := registration.AgentOwner{Hub: anotherHub, Cluster: "c", Namespace: "ws", Name: "n"}.Annotation()
	for name, value := range map[string]string{"ours": own.Annotation(), "nobody's": "", "ours, cut off before": leavingMark(own)} {
		for n := range looksOfARemoval(t) {
			t.Run(fmt.Sprintf("%s, look %d", name, n+1), func(t *testing.T) {
				h, d := newHub(t), newDownstream(t)
				d.put(everything("old")...)
				d.mark(t, "old", value)
				var before []string
				d.atLook(n+1, func() {
					d.mark(t, "old", theirs)
					d.put(everything("old")...)
					before = d.objects()
				})
				left, err := h.vacateFor(t, d, "old")
				require.NoError(t, err)
				assert.False(t, left)
				assert.Equal(t, before, d.objects())
				assert.Equal(t, anotherHub, d.ownerIn("old").Hub)
			})
		}
	}
}

// A process that no longer leads is slow to end: the one that leads has put the agent back meanwhile.
func TestAnAgentThatIsPutBackMeanwhileIsSpared(t *testing.T) {
	own := registration.AgentOwner{Hub: hubUID, Cluster: edgeUID, Namespace: workspace, Name: edge}
	for n := 2; n <= looksOfARemoval(t); n++ {
		h, d := newHub(t), newDownstream(t)
		d.put(everything("old")...)
		d.mark(t, "old", own.Annotation())
		var before []string
		d.atLook(n, func() {
			d.mark(t, "old", own.Annotation())
			d.put(everything("old")...)
			before = d.objects()
		})
		_, err := h.vacateFor(t, d, "old")
		require.ErrorContains(t, err, "namespace old")
		require.ErrorContains(t, err, "anew")
		assert.Equal(t, before, d.objects())
		assert.Equal(t, own, d.ownerIn("old"))
	}
}

// A person who takes the mark off, or deletes the namespace, does not keep the agent there.
func TestAMarkThatGoesMeanwhileEndsNoRemoval(t *testing.T) {
	own := registration.AgentOwner{Hub: hubUID, Cluster: edgeUID, Namespace: workspace, Name: edge}
	for name, act := range map[string]func(*testing.T, *downstream){
		"taken off":             func(t *testing.T, d *downstream) { d.mark(t, "old", "") },
		"gone":                  func(_ *testing.T, d *downstream) { d.Remove("Namespace", "", "old") },
		"marked in other words": func(t *testing.T, d *downstream) { d.mark(t, "old", leavingMark(own)+" ") },
	} {
		for _, n := range []int{2, 5, looksOfARemoval(t)} {
			t.Run(fmt.Sprintf("%s, look %d", name, n), func(t *testing.T) {
				h, d := newHub(t), newDownstream(t)
				d.put(everything("old")...)
				d.mark(t, "old", own.Annotation())
				d.atLook(n, func() { act(t, d) })
				left, err := h.vacateFor(t, d, "old")
				require.NoError(t, err)
				assert.True(t, left)
				assert.Subset(t, []string{"Namespace /old"}, d.objects())
				assert.Zero(t, d.ownerIn("old"))
			})
		}
	}
}

// Whoever changes the mark again and again is not fought with for ever.
func TestARemovalThatIsStirredTimeAndAgainIsTriedLater(t *testing.T) {
	h, d := newHub(t), newDownstream(t)
	own := h.me(cluster())
	d.mark(t, "old", own.Annotation())
	var changes int
	d.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/deployments/") {
			changes++
			d.mark(t, "old", leavingMark(own)+strings.Repeat(" ", changes))
		}
		return false
	})
	left, err := h.vacateFor(t, d, "old")
	require.ErrorContains(t, err, "namespace old: its mark was changed")
	assert.False(t, left)
	assert.Equal(t, claimTries, changes)
}

// The mark says that its owner leaves before anything is removed. A removal that is cut off is completed by the next; an
// import that wants the place again in between has it.
func TestARemovalThatIsCutOffCanBeGoneOnWithOrTakenBack(t *testing.T) {
	h, d := joined(t)
	d.refuse("/serviceaccounts/", http.StatusForbidden, metav1.StatusReasonForbidden, "no")
	_, err := h.vacateFor(t, d, system)
	require.Error(t, err)
	assert.Equal(t, "/api/v1/namespaces/"+system, d.Writes()[0].Path)
	assert.True(t, d.ownerIn(system).Leaving)
	assert.True(t, d.ownerIn(system).Same(h.edgeMark()))

	d.Intercept(nil)
	h.change(t, func(c *fleet.Cluster) { c.Spec.RedeployAgentGeneration = 1 })
	h.importNow(t)
	assert.Equal(t, "Imported", h.imported(t).Reason)
	assert.Equal(t, h.edgeMark(), d.ownerIn(system))
	assert.Contains(t, d.objects(), "Deployment cattle-fleet-system/fleet-agent")
}

// The mark of who leaves may change between the look of a first import and its own mark: that loses it nothing.
func TestWhoLeavesWhileAnotherImportsHandsOver(t *testing.T) {
	old, d := joined(t)
	next := second(t, d)
	next.work1(t)
	next.answerToken(t)
	var once bool
	d.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/namespaces/"+system) && !once {
			once = true
			d.mark(t, system, leavingMark(old.edgeMark()))
		}
		return false
	})
	next.work1(t)
	require.True(t, once)
	assert.Equal(t, "Imported", next.imported(t).Reason)
	assert.Equal(t, next.edgeMark(), d.ownerIn(system))
	assert.NotContains(t, d.Object("Namespace", "", system).GetAnnotations()[names.AgentOwnerAnnotation], "leaving")
}
