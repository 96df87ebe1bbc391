package cluster

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

func TestARequestBelongsToTheClusterThatItWasMatchedTo(t *testing.T) {
	c := newCluster(prepare)
	spec := fleet.ClusterRegistrationSpec{ClientID: "client"}
	cases := map[string]struct {
		request *fleet.ClusterRegistration
		want    bool
	}{
		"matched":                     {request("r"), true},
		"matched to another":          {request("r", func(r *fleet.ClusterRegistration) { r.Status.ClusterName = "other"; r.Spec = spec }), false},
		"in another workspace":        {request("r", func(r *fleet.ClusterRegistration) { r.Namespace = "other" }), false},
		"unmatched, same client":      {request("r", func(r *fleet.ClusterRegistration) { r.Status.ClusterName = ""; r.Spec = spec }), true},
		"unmatched, other client":     {request("r", func(r *fleet.ClusterRegistration) { r.Status.ClusterName = ""; r.Spec.ClientID = "client2" }), false},
		"unmatched, no client at all": {request("r", func(r *fleet.ClusterRegistration) { r.Status.ClusterName = "" }), false},
	}
	for name, test := range cases {
		assert.Equal(t, test.want, slices.Contains(clusterKeys(c), requestKey(test.request)), name)
	}
	none := newCluster()
	assert.False(t, slices.Contains(clusterKeys(none), requestKey(cases["unmatched, no client at all"].request)), "two empty client IDs are no match")
}

func TestLeavingTakesCredentialsFirst(t *testing.T) {
	c := newCluster(prepare, deleted)
	going := request("going", func(r *fleet.ClusterRegistration) { r.DeletionTimestamp = &metav1.Time{Time: now} })
	staying := request("staying")

	f := decideFarewell(leaving{cluster: c, registrations: []*fleet.ClusterRegistration{going, staying}, namespace: namespace(ownedBy(edgeUID))})
	assert.Equal(t, []*fleet.ClusterRegistration{staying}, f.registrations)
	assert.Contains(t, f.waiting, "1 registration requests")
	assert.False(t, f.done)
	assert.Empty(t, f.places)

	f = decideFarewell(leaving{cluster: c, accounts: []*corev1.ServiceAccount{account("a")}, namespace: namespace(ownedBy(edgeUID))})
	assert.Contains(t, f.waiting, "1 request accounts")
	assert.False(t, f.done)
	assert.Empty(t, f.places)
}

func TestLeavingTakesOnlyWhatIsProvedToBeThisClusters(t *testing.T) {
	c := newCluster(prepare, deleted)
	owner := func(kind, uid string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{Kind: kind, Name: edge, UID: types.UID(uid)}}
	}
	bundle := func(refs []metav1.OwnerReference) *fleet.Bundle {
		return &fleet.Bundle{ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: "fleet-agent-edge", OwnerReferences: refs}}
	}
	earlier := bundle(owner("Namespace", "uid-of-the-workspace"))
	earlier.Annotations = map[string]string{
		"objectset.rio.cattle.io/id": "fleet-manage-agent", "objectset.rio.cattle.io/owner-gvk": "/v1, Kind=Namespace",
		"objectset.rio.cattle.io/owner-name": workspace,
	}
	token := func(refs []metav1.OwnerReference) *fleet.ClusterRegistrationToken {
		return &fleet.ClusterRegistrationToken{ObjectMeta: metav1.ObjectMeta{Name: "import-token-edge", OwnerReferences: refs}}
	}
	leavingNamespace := namespace(ownedBy(edgeUID))
	leavingNamespace.DeletionTimestamp = &metav1.Time{Time: now}
	cases := map[string]struct {
		in                       leaving
		namespace, bundle, token bool
	}{
		"all its own": {leaving{namespace: namespace(ownedBy(edgeUID)), bundle: bundle(owner("Cluster", edgeUID)), token: token(owner("Cluster", edgeUID))}, true, true, true},
		"gone":        {leaving{}, false, false, false},
		// The Cluster is gone already and was made anew; this is an old copy of it that the cache still has.
		"of its successor": {leaving{namespace: namespace(ownedBy("uid-2")), bundle: bundle(owner("Cluster", "uid-2")), token: token(owner("Cluster", "uid-2"))}, false, false, false},
		"of an earlier version": {leaving{
			namespace: namespace(map[string]string{names.ClusterNamespaceAnnotation: workspace, names.ClusterAnnotation: edge}),
			bundle:    earlier,
		}, true, true, false},
		"without any mark":   {leaving{namespace: namespace(nil), bundle: bundle(nil), token: token(nil)}, false, false, false},
		"going already":      {leaving{namespace: leavingNamespace}, false, false, false},
		"a person's token":   {leaving{token: token(owner("Other", "uid-3"))}, false, false, false},
		"of another cluster": {leaving{namespace: namespace(map[string]string{names.ClusterNamespaceAnnotation: workspace, names.ClusterAnnotation: "other"})}, false, false, false},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			test.in.cluster = c.DeepCopy()
			test.in.cluster.Status.Namespace = place() // an earlier hub has worked with it
			f := decideFarewell(test.in)
			require.True(t, f.done, "it ends whatever is there")
			assert.Empty(t, f.waiting)
			assert.Equal(t, test.namespace, len(f.places) == 1, "namespace")
			assert.Equal(t, test.bundle, f.bundle != nil, "bundle")
			assert.Equal(t, test.token, f.token != nil, "token")
		})
	}
}

func TestWithoutOurFinalizerNothingIsTaken(t *testing.T) {
	in := leaving{cluster: newCluster(deleted), namespace: namespace(ownedBy(edgeUID)), registrations: []*fleet.ClusterRegistration{request("r")}}
	assert.Equal(t, farewell{}, decideFarewell(in))
}
