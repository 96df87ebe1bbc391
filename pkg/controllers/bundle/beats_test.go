package bundle

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// C07, C08, C09: of a thousand clusters that report many times a bundle runs never, and where it is run all the same it
// neither reads nor writes.
func TestManyBeatsOfManyClustersRunNoBundle(t *testing.T) {
	w := newWorld(t)
	const clusters, beats = 1000, 15
	for i := range clusters {
		w.addCluster(fmt.Sprintf("c%04d", i), prod)
	}
	w.bundles.Add(newBundle())
	for w.deployments.Len() < clusters {
		w.mustLook()
	}
	w.agentsReport()
	w.mustLook()
	w.bundles.Sync()
	require.Equal(t, "1000/1000", w.status().Display.ReadyClusters)
	w.bundles.ForgetTimers()
	w.takeCalls()

	for beat := range beats {
		for i := range clusters {
			before := w.clusters.Live(workspace, fmt.Sprintf("c%04d", i))
			after := before.DeepCopy()
			after.Status.Agent.LastSeen = metav1.NewTime(now.Add(time.Duration(beat) * time.Minute))
			after.Status.Summary.Ready = beat
			w.clusters.Add(after)
			w.h.onCluster(before, after)
		}
		require.False(t, w.woken(), "beat %d", beat)
	}
	w.clock.SetTime(now.Add(time.Hour))
	w.mustLook()
	assert.Empty(t, w.takeCalls())
}

// D04: clusters of which one's name begins the other's are two clusters, to bundles as well.
func TestAClusterWhoseNameBeginsAnothersIsAnother(t *testing.T) {
	w := newWorld(t)
	w.addCluster("edge", prod)
	w.addCluster("edge-2", prod)
	w.bundles.Add(newBundle(func(b *fleet.Bundle) {
		b.Spec.Targets = append([]fleet.BundleTarget{{ClusterName: "edge"}}, b.Spec.Targets...)
	}))
	w.mustLook()
	w.agentsReport()
	kept := w.deployment("edge-2").UID
	require.NotEmpty(t, kept)

	w.bundles.Add(newBundle(func(b *fleet.Bundle) {
		b.Spec.Targets, b.Generation = []fleet.BundleTarget{{ClusterName: "edge-2"}}, 2
	}))
	w.mustLook()
	w.mustLook()
	gone := w.deployment("edge")
	assert.True(t, gone == nil || gone.DeletionTimestamp != nil)
	require.NotNil(t, w.deployment("edge-2"))
	assert.Equal(t, kept, w.deployment("edge-2").UID)
	assert.Nil(t, w.deployment("edge-2").DeletionTimestamp)
}
