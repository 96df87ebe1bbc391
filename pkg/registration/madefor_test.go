package registration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

func TestWhichTokensTheHubMade(t *testing.T) {
	const here = "fleet.cattle.io/v1alpha1"
	edge := metav1.OwnerReference{APIVersion: here, Kind: "Cluster", Name: "edge", UID: "uid-of-edge"}
	configMap, foreign := edge, edge
	configMap.Kind = "ConfigMap"
	foreign.APIVersion = "cluster.x-k8s.io/v1beta1" // other groups have a kind of that name too
	for name, test := range map[string]struct {
		token  string
		owners []metav1.OwnerReference
		made   bool
	}{
		"a person's":                {names.ImportToken("edge"), nil, false},
		"of the Cluster":            {names.ImportToken("edge"), []metav1.OwnerReference{edge}, true},
		"with another owner beside": {names.ImportToken("edge"), []metav1.OwnerReference{configMap, edge}, true},
		"under another name":        {"people", []metav1.OwnerReference{edge}, false},
		"of another kind":           {names.ImportToken("edge"), []metav1.OwnerReference{configMap}, false},
		"of another group's kind":   {names.ImportToken("edge"), []metav1.OwnerReference{foreign}, false},
	} {
		cluster, uid := MadeForCluster(&fleet.ClusterRegistrationToken{ObjectMeta: metav1.ObjectMeta{Name: test.token, OwnerReferences: test.owners}})
		assert.Equal(t, test.made, cluster == "edge" && uid == "uid-of-edge", name)
		assert.Equal(t, test.made, cluster != "" || uid != "", name)
	}
}
