package agent_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// A bundle is deployed with the rights that the hub grants, its drift is corrected, and it goes when the hub has it no
// more, whether the agent sees that or was away.
func TestTheLifeOfABundle(t *testing.T) {
	b := newBed(t)
	stop := b.agent()
	b.deploy("first", func(bd *fleet.BundleDeployment) { bd.Spec.CorrectDrift = &fleet.CorrectDrift{Enabled: true} })
	b.deploy("second", nil)
	uid := b.isReady("first")
	b.isReady("second")

	_, err := b.Kube.CoreV1().ConfigMaps("apps").Patch(b.ctx(), "first", types.MergePatchType, []byte(`{"data":{"key":"spoilt"}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	stage.AwaitWithin(t, patience, "drift is corrected", func(ctx context.Context) (bool, string, error) {
		found, err := b.Kube.CoreV1().ConfigMaps("apps").Get(ctx, "first", metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		return found.Data["key"] == "wanted", found.Data["key"], nil
	})
	assert.Equal(t, uid, b.isReady("first"))

	b.remove("first")
	b.isGone("first")

	stop()
	b.remove("second")
	assert.NotEmpty(t, b.uid("second"), "nobody is there to remove it")
	b.agent()
	b.isGone("second")
}

// E10: a hub that is taken down, in whatever order, takes nothing from its clusters. A credential that is refused is left
// to the unit tests: the API server honours the token of a deleted account for some seconds more.
func TestAHubThatIsTakenDownRemovesNothing(t *testing.T) {
	for name, takeDown := range map[string]func(b *bed){
		"the namespace is deleted": func(b *bed) {
			require.NoError(b.t, b.Kube.CoreV1().Namespaces().Delete(b.ctx(), clusterNamespace, metav1.DeleteOptions{}))
		},
		"another of the same names takes its place": func(b *bed) {
			require.NoError(b.t, b.Kube.CoreV1().Namespaces().Delete(b.ctx(), clusterNamespace, metav1.DeleteOptions{}))
			b.noNamespace(clusterNamespace)
			b.namespace(clusterNamespace)
			b.grantPlace()
		},
		"the definition is deleted": func(b *bed) {
			require.NoError(b.t, b.Dynamic.Resource(stage.Definitions).Delete(b.ctx(), "bundledeployments.fleet.cattle.io", metav1.DeleteOptions{}))
		},
		"the rights are taken": func(b *bed) {
			require.NoError(b.t, b.Kube.RbacV1().RoleBindings(clusterNamespace).Delete(b.ctx(), account, metav1.DeleteOptions{}))
			b.remove("app")
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			stop := b.agent()
			b.deploy("app", nil)
			uid := b.isReady("app")
			takeDown(b)
			for began := time.Now(); time.Since(began) < aWhile; {
				require.Equal(t, uid, b.uid("app"))
			}
			// One that starts now must not think otherwise.
			stop()
			b.agent()
			for began := time.Now(); time.Since(began) < aWhile; {
				require.Equal(t, uid, b.uid("app"))
			}
		})
	}
}
