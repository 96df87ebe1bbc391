package cluster

import (
	"testing"

	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

var edgeKey = []relatedresource.Key{{Namespace: workspace, Name: edge}}

func TestPartsLeadToTheirCluster(t *testing.T) {
	for name, test := range map[string]struct {
		obj  runtime.Object
		want []relatedresource.Key
	}{
		"its namespace":                   {namespace(ownedBy(edgeUID)), edgeKey},
		"its account":                     {account("a"), edgeKey},
		"a foreign namespace":             {namespace(nil), nil},
		"half of the annotations":         {namespace(map[string]string{names.ClusterAnnotation: edge}), nil},
		"something that was just deleted": {nil, nil},
	} {
		keys, err := partOf("", "", test.obj)
		require.NoError(t, err)
		assert.Equal(t, test.want, keys, name)
	}
}

func TestOnlyALeaseThatGoesLeadsToItsCluster(t *testing.T) {
	h := newHub(t)
	h.namespaces.Add(namespace(ownedBy(edgeUID)))
	renewed := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Annotations: ownedBy(edgeUID)}}
	renewed.Spec.RenewTime = &metav1.MicroTime{Time: now}
	going := renewed.DeepCopy()
	going.DeletionTimestamp = &metav1.Time{Time: now}
	for name, test := range map[string]struct {
		namespace, lease string
		obj              runtime.Object
		want             []relatedresource.Key
	}{
		"a heartbeat":                   {place(), names.HeartbeatLease, renewed, nil},
		"going":                         {place(), names.HeartbeatLease, going, edgeKey},
		"gone":                          {place(), names.HeartbeatLease, nil, edgeKey},
		"gone with its namespace":       {"other", names.HeartbeatLease, nil, nil},
		"another Lease of that cluster": {place(), "other", nil, nil},
	} {
		keys, err := h.clusterOfLease(test.namespace, test.lease, test.obj)
		require.NoError(t, err)
		assert.Equal(t, test.want, keys, name)
	}
}

func TestARequestLeadsToItsClusterOnceMatched(t *testing.T) {
	keys, err := requestOf(workspace, "r", request("r"))
	require.NoError(t, err)
	assert.Equal(t, edgeKey, keys)

	keys, err = requestOf(workspace, "r", request("r", func(r *fleet.ClusterRegistration) { r.Status.ClusterName = "" }))
	require.NoError(t, err)
	assert.Empty(t, keys)

	keys, err = requestOf(workspace, "r", nil)
	require.NoError(t, err)
	assert.Empty(t, keys)
}
