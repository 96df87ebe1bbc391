package names

import (
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestOnlyTheHubsOwnBundleIsTheAgents(t *testing.T) {
	cluster := &metav1.ObjectMeta{Namespace: "ws", Name: "edge", UID: "uid-of-edge"}
	bundle := func(namespace, name string, refs ...metav1.OwnerReference) *metav1.ObjectMeta {
		return &metav1.ObjectMeta{Namespace: namespace, Name: name, OwnerReferences: refs}
	}
	owner := func(kind, uid string) metav1.OwnerReference {
		return metav1.OwnerReference{Kind: kind, Name: "edge", UID: types.UID(uid)}
	}
	noted := func(id, gvk, name string, refs ...metav1.OwnerReference) *metav1.ObjectMeta {
		b := bundle("ws", "fleet-agent-edge", refs...)
		b.Annotations = map[string]string{
			"objectset.rio.cattle.io/id": id, "objectset.rio.cattle.io/owner-gvk": gvk, "objectset.rio.cattle.io/owner-name": name,
		}
		return b
	}
	for name, test := range map[string]struct {
		bundle *metav1.ObjectMeta
		want   bool
	}{
		"the hub's":                             {bundle("ws", "fleet-agent-edge", owner("Cluster", "uid-of-edge")), true},
		"of its name only":                      {bundle("ws", "fleet-agent-edge"), false},
		"owned by something else":               {bundle("ws", "fleet-agent-edge", owner("GitRepo", "uid-of-edge")), false},
		"of an earlier Cluster":                 {bundle("ws", "fleet-agent-edge", owner("Cluster", "uid-of-another")), false},
		"of another workspace":                  {bundle("other", "fleet-agent-edge", owner("Cluster", "uid-of-edge")), false},
		"with a name that begins so":            {bundle("ws", "fleet-agent-edge-2", owner("Cluster", "uid-of-edge")), false},
		"the reference's":                       {noted("fleet-manage-agent", "/v1, Kind=Namespace", "ws"), true},
		"the reference's, of another workspace": {noted("fleet-manage-agent", "/v1, Kind=Namespace", "other"), false},
		"of another set":                        {noted("bundle", "/v1, Kind=Namespace", "ws"), false},
		"a copy of another cluster's":           {noted("fleet-manage-agent", "fleet.cattle.io/v1alpha1, Kind=Cluster", "edge-1"), false},
		"a copy with the owner of another":      {noted("fleet-manage-agent", "/v1, Kind=Namespace", "ws", owner("Cluster", "x")), false},
	} {
		assert.Equal(t, test.want, IsAgentBundle(test.bundle, cluster), name)
	}
}
