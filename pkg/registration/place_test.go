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
	owner := names.OwnerRef{Kind: "Cluster", Namespace: "ws", Name: "edge", UID: "uid"}.String()
	ns := func(round int, marks map[string]string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: names.ClusterPlace("ws", "edge", round), Annotations: marks}}
	}
	owned := func(round string) map[string]string {
		marks := map[string]string{names.OwnerAnnotation: owner}
		if round != "" {
			marks[names.PlaceAnnotation] = round
		}
		return marks
	}
	assert.True(t, IsPlaceOf(ns(0, owned("")), c))
	assert.False(t, IsPlaceOf(ns(1, owned("1")), c))

	c.Annotations, c.Spec.Revoked = annotated("0 revoked"), true
	assert.True(t, IsPlaceOf(ns(0, owned("")), c), "until it is readmitted")
	c.Spec.Revoked = false
	assert.False(t, IsPlaceOf(ns(0, owned("")), c), "that counts at once")

	c.Annotations = annotated("1")
	assert.False(t, IsPlaceOf(ns(0, owned("")), c), "the agent was revoked from it")
	assert.True(t, IsPlaceOf(ns(1, owned("1")), c))
	assert.False(t, IsPlaceOf(ns(1, owned("1 revoked")), c))
	assert.False(t, IsPlaceOf(ns(2, owned("2")), c))
	assert.False(t, IsPlaceOf(ns(0, owned("1")), c), "a name of another round")
}

// Whoever may make namespaces could wait in one for what the hub will put there, and whoever may edit one could give it away.
func TestANamespaceThatSomebodyElseMadeIsNoClusters(t *testing.T) {
	owner := names.OwnerRef{Kind: "Cluster", Namespace: "ws", Name: "edge", UID: "uid"}.String()
	wire := map[string]string{names.ClusterNamespaceAnnotation: "ws", names.ClusterAnnotation: "edge"}
	round1 := map[string]string{names.ClusterNamespaceAnnotation: "ws", names.ClusterAnnotation: "edge", names.PlaceAnnotation: "1"}
	for name, test := range map[string]struct {
		namespace string
		marks     map[string]string
		place     string
		status    string
		want      bool
	}{
		"made before the hub did":                       {names.ClusterNamespace("ws", "edge"), nil, "", "", false},
		"made before the hub did, with marks":           {names.ClusterNamespace("ws", "edge"), wire, "", "", false},
		"made for the next round":                       {names.ClusterPlace("ws", "edge", 1), round1, "1", names.ClusterPlace("ws", "edge", 1), false},
		"another's, with the mark, and in the status":   {"victim", map[string]string{names.OwnerAnnotation: owner}, "", "victim", false},
		"another's, with old marks, and in the status":  {"victim", wire, "", "victim", false},
		"of an installation before ours":                {names.ClusterNamespace("ws", "edge"), wire, "", names.ClusterNamespace("ws", "edge"), true},
		"of an installation before ours, without marks": {names.ClusterNamespace("ws", "edge"), nil, "", names.ClusterNamespace("ws", "edge"), true},
	} {
		c := &fleet.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ws", Name: "edge", UID: "uid"}}
		if c.Status.Namespace = test.status; test.place != "" {
			c.Annotations = annotated(test.place)
		}
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: test.namespace, Annotations: test.marks}}
		assert.Equal(t, test.want, IsPlaceOf(ns, c), name)
	}
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
