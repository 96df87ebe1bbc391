package registration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/names"
)

func TestTheLimitOfATokenIsItsOwnElseTheConfigurations(t *testing.T) {
	imports := metav1.OwnerReference{APIVersion: fleet.SchemeGroupVersion.String(), Kind: "Cluster", Name: "edge", UID: "uid"}
	for name, test := range map[string]struct {
		own        *int32
		configured int
		imports    bool
		want       int
	}{
		"none":                        {nil, 0, false, 0},
		"its own":                     {ptr.To(int32(2)), 0, false, 2},
		"its own, lower":              {ptr.To(int32(2)), 5, false, 2},
		"its own, higher":             {ptr.To(int32(9)), 5, false, 9},
		"the configuration's":         {nil, 5, false, 5},
		"an import's":                 {nil, 5, true, 0},
		"an import's that was set so": {ptr.To(int32(1)), 5, true, 1},
	} {
		token := &fleet.ClusterRegistrationToken{ObjectMeta: metav1.ObjectMeta{Name: "shared"}}
		token.Spec.MaxUses = test.own
		if test.imports {
			token.Name, token.OwnerReferences = names.ImportToken("edge"), []metav1.OwnerReference{imports}
		}
		c := config.Config{Registration: config.Registration{MaxUses: test.configured}}
		assert.Equal(t, test.want, UseLimit(token, c), name)
		for range test.want {
			assert.False(t, IsUsedUp(token, c), name)
			token.Status.UsedBy = append(token.Status.UsedBy, "uid-of-a-request")
		}
		assert.Equal(t, test.want > 0, IsUsedUp(token, c), name)
	}
}
