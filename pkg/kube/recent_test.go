package kube_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/pkg/kube"
)

func versioned(uid types.UID, version string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", UID: uid, ResourceVersion: version}}
}

func TestACacheThatHasNotSeenOurWriteIsBehind(t *testing.T) {
	recent := kube.NewRecent[*corev1.Secret]()
	assert.False(t, recent.IsBehind(versioned("a", "9")), "nothing was written")

	recent.Wrote(versioned("a", "10"))
	assert.True(t, recent.IsBehind(versioned("a", "9")))
	assert.False(t, recent.IsBehind(versioned("a", "10")))
	assert.False(t, recent.IsBehind(versioned("a", "11")), "somebody else wrote since")
	assert.False(t, recent.IsBehind(versioned("b", "9")), "another object of the name")

	recent.Wrote(versioned("a", "8"))
	assert.True(t, recent.IsBehind(versioned("a", "9")), "an older version changes nothing")
	assert.False(t, recent.IsBehind(versioned("a", "x")), "what cannot be compared")
}

func TestWhatWasDeletedIsGoneThoughACacheShowsIt(t *testing.T) {
	recent := kube.NewRecent[*corev1.Secret]()
	recent.Wrote(versioned("a", "10"))
	assert.False(t, recent.IsDeleted(versioned("a", "10")))

	recent.Deleted("a")
	assert.True(t, recent.IsDeleted(versioned("a", "10")))
	assert.True(t, recent.IsBehind(versioned("a", "10")))
	_, ok := recent.Find("ns", "s")
	assert.False(t, ok)

	recent.Created(versioned("b", "12"))
	found, ok := recent.Find("ns", "s")
	assert.True(t, ok, "made anew")
	assert.Equal(t, types.UID("b"), found.UID)
	recent.Created(versioned("a", "13"))
	assert.True(t, recent.IsDeleted(versioned("a", "13")), "a late answer revives nobody")
}

func TestWhatTheCacheDoesNotShowYetIsFound(t *testing.T) {
	recent := kube.NewRecent[*corev1.Secret]()
	_, ok := recent.Find("ns", "s")
	assert.False(t, ok)
	recent.Created(versioned("a", "10"))
	found, ok := recent.Find("ns", "s")
	assert.True(t, ok)
	assert.Equal(t, "10", found.ResourceVersion)
	_, ok = recent.Find("other", "s")
	assert.False(t, ok)
}

// Somebody else may delete what was just written.
func TestOnceTheCacheHasShownItOnlyTheCacheCounts(t *testing.T) {
	recent := kube.NewRecent[*corev1.Secret]()
	recent.Created(versioned("a", "10"))

	recent.Seen(versioned("a", "9"))
	_, ok := recent.Find("ns", "s")
	assert.True(t, ok, "an event of before")
	recent.Seen(versioned("b", "12"))
	_, ok = recent.Find("ns", "s")
	assert.True(t, ok, "an event of another object of the name")

	recent.Seen(versioned("a", "10"))
	_, ok = recent.Find("ns", "s")
	assert.False(t, ok)
	assert.True(t, recent.IsBehind(versioned("a", "9")), "an object from before is still one from before")
}
