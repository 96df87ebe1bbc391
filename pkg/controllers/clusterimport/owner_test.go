package clusterimport

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

const anotherHub = "uid-of-another-hub"

func marks(owner registration.AgentOwner) map[string]string {
	return map[string]string{names.AgentOwnerAnnotation: owner.Annotation()}
}

func marksLeaving(owner registration.AgentOwner) map[string]string {
	owner.Leaving = true
	return marks(owner)
}

// rival is another Cluster of the same hub, with an agent in the place of the tests.
func rival(changes ...func(*fleet.Cluster)) *fleet.Cluster {
	c := cluster(imported, func(c *fleet.Cluster) { c.Namespace, c.Name, c.UID = "another-workspace", "rival", "uid-of-rival" })
	for _, f := range changes {
		f(c)
	}
	return c
}

// Who gets an agent's namespace of a downstream cluster (R03).
func TestWhoGetsAnAgentsNamespace(t *testing.T) {
	here := place{"uid-of-downstream", system}
	me := registration.AgentOwner{Hub: hubUID, Cluster: edgeUID, Namespace: workspace, Name: edge}
	ofRival := registration.AgentOwner{Hub: hubUID, Cluster: "uid-of-rival", Namespace: "another-workspace", Name: "rival"}
	elsewhere := registration.AgentOwner{Hub: anotherHub, Cluster: "uid-there", Namespace: "ws", Name: "edge-there"}
	seen := digest([]byte(elsewhere.Annotation()))
	fresh := factsOf(cluster())
	healing := factsOf(cluster(imported))
	recordOf := func(change func(*registration.Import)) facts {
		return factsOf(cluster(imported, recorded(lastImport(cluster(), change))))
	}
	cutOff := func(replaces string) facts {
		f := recordOf(func(r *registration.Import) { r.Replaces = replaces })
		f.imported, f.cluster.Status.AgentDeployedGeneration = false, nil
		return f
	}
	ordered := factsOf(cluster(imported, func(c *fleet.Cluster) { c.Spec.RedeployAgentGeneration = 1 }))
	orderedWhileCutOff := cutOff("")
	orderedWhileCutOff.cluster.Spec.RedeployAgentGeneration = 1
	huge := map[string]string{names.AgentOwnerAnnotation: strings.Repeat("x", 100<<10)}
	leads := func(clusterUID, namespace string) func(*fleet.Cluster) {
		return recorded(registration.Import{ClusterUID: clusterUID, Namespace: namespace, Time: now})
	}

	for name, test := range map[string]struct {
		facts  facts
		marks  map[string]string
		holder *fleet.Cluster
		want   claim
		says   string
	}{
		"no mark, first import":   {fresh, nil, nil, take, ""},
		"no mark, healing":        {healing, nil, nil, take, ""},
		"no mark, others' rival":  {fresh, map[string]string{"other": "x"}, rival(), take, ""},
		"its own, first import":   {fresh, marks(me), nil, mine, ""},
		"its own, healing":        {healing, marks(me), nil, mine, ""},
		"its own of another name": {healing, marks(registration.AgentOwner{Hub: hubUID, Cluster: edgeUID, Namespace: "x", Name: "y"}), nil, mine, ""},

		"a rival's, first import":     {fresh, marks(ofRival), rival(), refuse, "another-workspace/rival"},
		"a rival's, healing":          {healing, marks(ofRival), rival(), refuse, "spec.agentNamespace"},
		"a rival's, ordered":          {ordered, marks(ofRival), rival(), refuse, "another-workspace/rival"},
		"a rival's that is gone":      {healing, marks(ofRival), nil, take, ""},
		"a rival's made anew":         {healing, marks(ofRival), rival(func(c *fleet.Cluster) { c.UID = "uid-of-the-next" }), take, ""},
		"a rival's that leaves":       {healing, marks(ofRival), rival(func(c *fleet.Cluster) { c.DeletionTimestamp = &metav1.Time{Time: now} }), take, ""},
		"a rival's that is revoked":   {healing, marks(ofRival), rival(func(c *fleet.Cluster) { c.Spec.Revoked = true }), take, ""},
		"a rival's, led elsewhere":    {healing, marks(ofRival), rival(leads("uid-of-a-third", system)), take, ""},
		"a rival's, other namespace":  {healing, marks(ofRival), rival(leads(here.clusterUID, "agents")), take, ""},
		"a rival's that left nothing": {healing, marks(ofRival), rival(func(c *fleet.Cluster) { c.Annotations = nil }), take, ""},
		"a rival's that still leaves it": {healing, marks(ofRival), rival(recorded(registration.Import{
			ClusterUID: here.clusterUID, Namespace: "agents", Previous: []string{system}, Time: now,
		})), refuse, "has left it"},

		"another hub's, first import":            {fresh, marks(elsewhere), nil, take, ""},
		"another hub's, healing":                 {healing, marks(elsewhere), nil, refuse, anotherHub},
		"another hub's, and a way back":          {healing, marks(elsewhere), nil, refuse, "redeployAgentGeneration"},
		"another hub's, ordered":                 {ordered, marks(elsewhere), nil, take, ""},
		"another hub's, from another cluster":    {recordOf(func(r *registration.Import) { r.ClusterUID = "x" }), marks(elsewhere), nil, take, ""},
		"another hub's, from another namespace":  {recordOf(func(r *registration.Import) { r.Namespace = "x" }), marks(elsewhere), nil, take, ""},
		"another hub's, where it has left":       {recordOf(func(r *registration.Import) { r.Namespace, r.Previous = "x", []string{system} }), marks(elsewhere), nil, refuse, "taken over"},
		"another hub's, imported long ago":       {factsOf(cluster(imported, func(c *fleet.Cluster) { c.Annotations = nil })), marks(elsewhere), nil, refuse, "taken over"},
		"another hub's, cut off before the mark": {cutOff(seen), marks(elsewhere), nil, take, ""},
		"another hub's, since it was cut off":    {cutOff("another"), marks(elsewhere), nil, refuse, "taken over"},
		"another hub's, cut off, nothing seen":   {cutOff(""), marks(elsewhere), nil, refuse, "taken over"},
		"another hub's, cut off and ordered":     {orderedWhileCutOff, marks(elsewhere), nil, take, ""},
		"another hub's after it was done":        {recordOf(func(r *registration.Import) { r.Replaces = seen }), marks(elsewhere), nil, refuse, "taken over"},

		"its own that it was leaving":        {healing, marksLeaving(me), nil, take, ""},
		"another hub's that leaves, healing": {healing, marksLeaving(elsewhere), nil, take, ""},
		"another hub's that leaves, cut off": {cutOff("another"), marksLeaving(elsewhere), nil, take, ""},
		"a rival's that is leaving":          {healing, marksLeaving(ofRival), rival(), refuse, "has left it"},

		"unreadable, first import": {fresh, map[string]string{names.AgentOwnerAnnotation: "{"}, nil, take, ""},
		"unreadable, healing":      {healing, map[string]string{names.AgentOwnerAnnotation: "{"}, nil, refuse, "cannot read"},
		"huge, healing":            {healing, huge, nil, refuse, "cannot read"},
		"huge, ordered":            {ordered, huge, nil, take, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := decideClaim(test.facts, me, here, markOf(test.marks), test.holder)
			assert.Equal(t, test.want, got)
			if test.want != refuse {
				require.NoError(t, err)
				return
			}
			reason, message := explain(err, "ws/kubeconfig", trusted{})
			assert.Equal(t, "AgentNamespaceTaken", reason)
			assert.Contains(t, message, test.says)
			assert.Contains(t, message, system)
			assert.NotContains(t, message, "xxxx")
			assert.Less(t, len(message), maxText)
			var known *trouble
			require.ErrorAs(t, err, &known)
			assert.True(t, known.final)
			assert.False(t, errors.Is(err, errGone))
		})
	}
}
