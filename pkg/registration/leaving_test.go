package registration

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/names"
)

func leavingCluster(change ...func(*fleet.Cluster)) *fleet.Cluster {
	at := metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	c := &fleet.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "edge", DeletionTimestamp: &at, Finalizers: []string{names.ClusterFinalizer}}}
	for _, f := range change {
		f(c)
	}
	return c
}

func TestWhatIsRemovedIsSaidByTheClusterThenByTheConfiguration(t *testing.T) {
	for name, test := range map[string]struct {
		spec, configured string
		change           func(*fleet.Cluster)
		want             bool
	}{
		"nobody says anything": {"", "", nil, false},
		"configured to keep":   {"", config.OnDeleteKeep, nil, false},
		"configured to remove": {"", config.OnDeleteRemove, nil, true},
		"it keeps":             {config.OnDeleteKeep, config.OnDeleteRemove, nil, false},
		"it removes":           {config.OnDeleteRemove, config.OnDeleteKeep, nil, true},
		"it lives":             {config.OnDeleteRemove, "", func(c *fleet.Cluster) { c.DeletionTimestamp = nil }, false},
		"it was revoked":       {config.OnDeleteRemove, "", func(c *fleet.Cluster) { c.Spec.Revoked = true }, false},
		"nothing holds it":     {config.OnDeleteRemove, "", func(c *fleet.Cluster) { c.Finalizers = []string{"another"} }, false},
	} {
		c := leavingCluster(func(c *fleet.Cluster) { c.Spec.OnDelete = test.spec })
		if test.change != nil {
			test.change(c)
		}
		assert.Equal(t, test.want, Removes(c, test.configured), name)
	}
}

func TestANoteOfTheRemovalCountsForThisDeletionAlone(t *testing.T) {
	c := leavingCluster()
	deleted := c.DeletionTimestamp.Time
	now := deleted.Add(time.Minute + time.Millisecond)
	c.Status.Agent.LastSeen = metav1.NewTime(deleted.Add(-time.Hour))

	_, ok := LeavingOf(c, now)
	assert.False(t, ok, "there is none")
	noted := BeginLeaving(c, now)
	assert.Equal(t, Leaving{Since: deleted.Add(time.Minute), Heard: deleted.Add(-time.Hour)}, noted)
	c.Annotations = map[string]string{names.LeavingAnnotation: noted.Annotation()}
	got, ok := LeavingOf(c, now)
	assert.True(t, ok)
	assert.Equal(t, noted, got)

	later := metav1.NewTime(deleted.Add(time.Hour))
	again := leavingCluster(func(c *fleet.Cluster) { c.DeletionTimestamp = &later })
	again.Annotations = c.Annotations
	_, ok = LeavingOf(again, later.Add(time.Minute))
	assert.False(t, ok, "it came back from a backup and is deleted once more")
	_, ok = LeavingOf(c, deleted.Add(time.Second))
	assert.False(t, ok, "it has not begun yet")
	c.Annotations[names.LeavingAnnotation] = "soon"
	_, ok = LeavingOf(c, now)
	assert.False(t, ok, "it cannot be read")
}

// The API server's clock may be ahead of the hub's.
func TestANoteIsNoOlderThanTheDeletion(t *testing.T) {
	c := leavingCluster()
	now := c.DeletionTimestamp.Add(-time.Minute)
	noted := BeginLeaving(c, now)
	assert.Equal(t, c.DeletionTimestamp.Time, noted.Since)
	c.Annotations = map[string]string{names.LeavingAnnotation: noted.Annotation()}
	_, ok := LeavingOf(c, now)
	assert.True(t, ok)
}
