package registration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

func annotated(value string) map[string]string {
	return map[string]string{names.PlaceAnnotation: value}
}

func TestWhoIsReadmittedGetsAnotherPlaceEachTime(t *testing.T) {
	place, err := PlaceOf(nil)
	require.NoError(t, err)
	assert.Equal(t, place, place.Next(false), "nothing happened")
	for round := range 3 {
		assert.Equal(t, Place{Round: round}, place)
		place = place.Next(true)
		assert.Equal(t, Place{Round: round, Revoked: true}, place)
		assert.Equal(t, place, place.Next(true), "it is revoked once, however often that is looked at")
		read, err := PlaceOf(annotated(place.Annotation()))
		require.NoError(t, err)
		assert.Equal(t, place, read)
		place = place.Next(false)
		read, err = PlaceOf(annotated(place.Annotation()))
		require.NoError(t, err)
		assert.Equal(t, place, read)
	}
}

func TestAPlaceThatCannotBeReadIsNoPlace(t *testing.T) {
	for _, value := range []string{"", "-1", "x", "1 2", "1  revoked", "1 revoked ", "99999999", "1.5"} {
		_, err := PlaceOf(annotated(value))
		assert.ErrorContains(t, err, "fleet.cattle.io/place", value)
		c := &fleet.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ws", Name: "edge", UID: "uid", Annotations: annotated(value)}}
		assert.False(t, IsPlaceOf(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: names.ClusterNamespace("ws", "edge")}}, c), value)
	}
}

func TestANamespaceIsAClustersInItsRoundAlone(t *testing.T) {
	c := &fleet.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ws", Name: "edge", UID: "uid"}}
	ns := func(round string) *corev1.Namespace {
		n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "any", Annotations: map[string]string{
			names.OwnerAnnotation: names.OwnerRef{Kind: "Cluster", Namespace: "ws", Name: "edge", UID: "uid"}.String(),
		}}}
		if round != "" {
			n.Annotations[names.PlaceAnnotation] = round
		}
		return n
	}
	unmarked := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: names.ClusterNamespace("ws", "edge")}}
	assert.True(t, IsPlaceOf(ns(""), c))
	assert.True(t, IsPlaceOf(unmarked, c))
	assert.False(t, IsPlaceOf(ns("1"), c))

	c.Annotations, c.Spec.Revoked = annotated("0 revoked"), true
	assert.True(t, IsPlaceOf(ns(""), c), "until it is readmitted")
	c.Spec.Revoked = false
	assert.False(t, IsPlaceOf(ns(""), c), "that counts at once")

	c.Annotations = annotated("1")
	assert.False(t, IsPlaceOf(ns(""), c), "the agent was revoked from it")
	assert.False(t, IsPlaceOf(unmarked, c))
	assert.True(t, IsPlaceOf(ns("1"), c))
	assert.False(t, IsPlaceOf(ns("1 revoked"), c))
	assert.False(t, IsPlaceOf(ns("2"), c))
}

func TestANamespaceIsOfTheClusterThatItsMarkNames(t *testing.T) {
	c := &fleet.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ws", Name: "edge", UID: "uid"}}
	marked := func(uid string) *corev1.Namespace {
		owner := names.OwnerRef{Kind: "Cluster", Namespace: "ws", Name: "edge", UID: uid}
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: names.ClusterNamespace("ws", "edge"), Annotations: map[string]string{names.OwnerAnnotation: owner.String()},
		}}
	}
	assert.True(t, IsPlaceOf(marked("uid"), c))
	assert.False(t, IsPlaceOf(marked("uid-of-an-earlier-one"), c), "it may hold that one's secrets")
}
