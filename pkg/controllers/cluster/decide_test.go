package cluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

func TestAClusterIsGivenItsFinalizerAndAClientIDWhereTheHubImportsIt(t *testing.T) {
	elsewhere := func(c *fleet.Cluster) { c.Labels = map[string]string{names.ClusterManagementLabel: "other"} }
	cases := map[string]struct {
		cluster  *fleet.Cluster
		changed  bool
		clientID string
	}{
		"new, with a kubeconfig":      {newCluster(), true, "fresh"},
		"complete":                    {newCluster(prepare), false, "client"},
		"without a kubeconfig":        {newCluster(func(c *fleet.Cluster) { c.Spec.KubeConfigSecret = "" }), true, ""},
		"finalizer is there, no ID":   {newCluster(prepare, func(c *fleet.Cluster) { c.Spec.ClientID = "" }), true, "fresh"},
		"of another manager":          {newCluster(elsewhere), true, ""},
		"foreign finalizers are kept": {newCluster(func(c *fleet.Cluster) { c.Finalizers = []string{"other/finalizer"}; c.Spec.ClientID = "client" }), true, "client"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			before := c.cluster.DeepCopy()

			d := decide(input{name: place(), cluster: c.cluster, clientID: "fresh"})

			assert.Equal(t, before, c.cluster, "the cached object is left as it is")
			require.Equal(t, c.changed, d.update != nil)
			if d.update != nil {
				assert.Equal(t, c.clientID, d.update.Spec.ClientID)
				assert.Contains(t, d.update.Finalizers, names.ClusterFinalizer)
				assert.Subset(t, d.update.Finalizers, before.Finalizers)
			}
		})
	}
}

func TestTheNamespaceIsMadeOrTakenOnlyWhereItIsThisClusters(t *testing.T) {
	lease := &coordinationv1.Lease{}
	leaving := namespace(ownedBy(edgeUID))
	leaving.DeletionTimestamp = &metav1.Time{Time: now}
	marks := func(workspace, name string) map[string]string {
		return map[string]string{names.ClusterNamespaceAnnotation: workspace, names.ClusterAnnotation: name}
	}
	const another = "belongs to another cluster"
	cases := map[string]struct {
		existing *corev1.Namespace
		// known says that the Cluster's status names it: an earlier hub has worked with it.
		known   bool
		creates bool
		blocked string
	}{
		"missing":                     {nil, false, true, ""},
		"its own":                     {namespace(ownedBy(edgeUID)), false, false, ""},
		"of an earlier version":       {namespace(marks(workspace, edge)), true, false, ""},
		"without any mark":            {namespace(nil), true, false, ""},
		"made by somebody else":       {namespace(nil), false, false, another},
		"made and marked by another":  {namespace(marks(workspace, edge)), false, false, another},
		"of an earlier Cluster":       {namespace(ownedBy("uid-of-an-earlier-edge")), true, false, another},
		"of a Cluster elsewhere":      {namespace(marks("other", edge)), true, false, another},
		"of another Cluster":          {namespace(marks(workspace, "other")), true, false, another},
		"being deleted (R12)":         {leaving, true, false, "still being deleted"},
		"a mark that cannot be read":  {namespace(map[string]string{names.OwnerAnnotation: "nonsense"}), true, false, ""},
		"half of the two annotations": {namespace(map[string]string{names.ClusterAnnotation: edge}), true, false, another},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster(prepare)
			if cluster.Status.Namespace = ""; c.known {
				cluster.Status.Namespace = place()
			}
			d := decide(input{name: place(), cluster: cluster, namespace: c.existing, lease: lease})

			assert.Equal(t, place(), d.name)
			assert.Equal(t, c.creates, d.namespace != nil)
			if c.blocked == "" {
				assert.Empty(t, d.blocked)
			} else {
				assert.Contains(t, d.blocked, c.blocked)
				assert.Contains(t, d.blocked, place())
			}
		})
	}
}

func TestNothingIsPutIntoANamespaceThatIsBlocked(t *testing.T) {
	d := decide(input{name: place(), cluster: newCluster(prepare), namespace: namespace(ownedBy("other"))})
	assert.Nil(t, d.lease)
	assert.Nil(t, d.namespace)
}

func TestTheLeaseIsMadeByTheHubAndForNobodyWhoIsRevoked(t *testing.T) {
	in := input{name: place(), cluster: newCluster(prepare), namespace: namespace(ownedBy(edgeUID))}
	require.NotNil(t, decide(in).lease)

	in.lease = &coordinationv1.Lease{}
	assert.Nil(t, decide(in).lease)

	in.lease, in.cluster = nil, newCluster(prepare, func(c *fleet.Cluster) { c.Spec.Revoked = true })
	assert.Nil(t, decide(in).lease)
}

func TestWhatIsMadeCarriesTheMarksThatOthersKnowItBy(t *testing.T) {
	d := decide(input{name: place(), cluster: newCluster(prepare)})

	assert.Equal(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:   "cluster-fleet-default-edge-" + names.KeyHash("fleet-default::edge"),
		Labels: map[string]string{"fleet.cattle.io/managed": "true"},
		Annotations: map[string]string{
			"fleet.cattle.io/cluster-namespace": "fleet-default",
			"fleet.cattle.io/cluster":           "edge",
			"fleet.cattle.io/owner":             "Cluster/fleet-default/edge/uid-of-edge",
		},
	}}, d.namespace)
	assert.Equal(t, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: place(), Name: "fleet-agent",
		Labels:      map[string]string{"fleet.cattle.io/managed": "true"},
		Annotations: map[string]string{"fleet.cattle.io/cluster-namespace": "fleet-default", "fleet.cattle.io/cluster": "edge"},
	}}, d.lease)
}

// D07: a hash over a separator that no name contains keeps two pairs apart.
func TestTwoClustersNeverShareANamespace(t *testing.T) {
	one := &fleet.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns-a", Name: "b"}}
	other := &fleet.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a-b"}}
	assert.NotEqual(t, namespaceName(one, nil), namespaceName(other, nil))
}

// An agent can write its Cluster's status; the namespace that stands there is believed only if it is the cluster's.
func TestTheNamespaceInTheStatusIsBelievedOnlyWithProof(t *testing.T) {
	c := newCluster(prepare)
	claimed := func(name string, annotations map[string]string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}}
	}
	wire := map[string]string{names.ClusterNamespaceAnnotation: workspace, names.ClusterAnnotation: edge}
	for name, test := range map[string]struct {
		claimed *corev1.Namespace
		want    string
	}{
		"none":                          {nil, place()},
		"marked as its own":             {claimed("chosen", ownedBy(edgeUID)), place()},
		"of an installation before":     {claimed("chosen", wire), place()},
		"of another cluster":            {claimed("chosen", ownedBy("other")), place()},
		"without a mark":                {claimed("fleet-default", nil), place()},
		"its own name, without a mark":  {claimed(place(), nil), place()},
		"of an earlier life of its own": {claimed("chosen", ownedBy("uid-of-an-earlier-edge")), place()},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, namespaceName(c, test.claimed)) })
	}
}
