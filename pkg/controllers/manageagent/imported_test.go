package manageagent

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// imported notes that the agent of a cluster was put there with what is wanted now, by an account.
func (w *waves) imported(i int, account string) {
	record := registration.Import{AccountUID: account, Generation: w.wants(i)}.Annotation()
	w.change(i, func(c *fleet.Cluster) { metav1.SetMetaDataAnnotation(&c.ObjectMeta, names.ImportAnnotation, record) })
}

// An agent that was just put there with what is wanted needs no turn. To go back to that later is a change like any other.
func TestTheWayBackToWhatWasImportedGoesInWaves(t *testing.T) {
	w := newWaves(t, 3)
	for i := range 3 {
		w.imported(i, "first")
	}
	w.load(newImage)
	for i := range 3 {
		w.lookAll(3)
		require.Contains(t, w.given(3), i)
		w.comesBack(i)
	}
	w.load("{}")
	w.lookAll(3)
	assert.Equal(t, []int{0}, w.given(3))

	w.imported(2, "second")
	w.lookAll(3)
	assert.Equal(t, []int{0, 2}, w.given(3), "it was put there anew")
}
