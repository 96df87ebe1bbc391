package clusterregistration

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

func TestObservationOfARequestForWhichAllIsThere(t *testing.T) {
	h := joining(t)
	in, err := h.observe(h.live("request-1"))
	require.NoError(t, err)
	require.Len(t, in.sameClient, 1)
	assert.Nil(t, in.matched)
	assert.Nil(t, in.byName)
	assert.True(t, in.placed[edgeUID])
	assert.Equal(t, "import-token-edge", in.token.Name)
	assert.Equal(t, edgeUID, in.tokenOwner)
	assert.Equal(t, importUID, in.importAccountUID)
	assert.False(t, in.tokenSpent)
}

// An agent of before tokens had names says none.
func TestWithoutANameTheHubsTokenForTheClientIsMeant(t *testing.T) {
	h := joining(t, func(r *fleet.ClusterRegistration) { r.Labels = nil })
	in, err := h.observe(h.live("request-1"))
	require.NoError(t, err)
	require.NotNil(t, in.token)
	assert.Equal(t, "import-token-edge", in.token.Name)

	in, err = h.observe(request(func(r *fleet.ClusterRegistration) { r.Labels, r.Spec.ClientID = nil, "client2" }))
	require.NoError(t, err)
	assert.Nil(t, in.token)
}

func TestATokenThatIsBeingDeletedIsNone(t *testing.T) {
	h := joining(t)
	h.tokens.Add(token(func(t *fleet.ClusterRegistrationToken) { t.DeletionTimestamp = &metav1.Time{Time: now} }))
	in, err := h.observe(h.live("request-1"))
	require.NoError(t, err)
	assert.Nil(t, in.token)
}

func TestAnImportAccountIsSpentByTheGrantOfAnotherRequestSinceItWasMade(t *testing.T) {
	at := func(d time.Duration) change[*fleet.ClusterRegistration] {
		return func(r *fleet.ClusterRegistration) { r.CreationTimestamp = metav1.NewTime(now.Add(d)) }
	}
	unlabelled := func(r *fleet.ClusterRegistration) { r.Labels = nil }
	another := func(r *fleet.ClusterRegistration) { r.Labels[names.RegistrationTokenLabel] = "shared" }
	for name, test := range map[string]struct {
		other *fleet.ClusterRegistration
		want  bool
	}{
		"granted since":               {request(named("request-2"), granted), true},
		"granted in the same second":  {request(named("request-2"), granted, at(-time.Minute)), true},
		"granted by an older token":   {request(named("request-2"), granted, at(-time.Hour)), false},
		"not granted":                 {request(named("request-2")), false},
		"granted by another token":    {request(named("request-2"), granted, another), false},
		"granted, without a name":     {request(named("request-2"), granted, unlabelled), true},
		"granted for another client":  {request(named("request-2"), granted, func(r *fleet.ClusterRegistration) { r.Spec.ClientID = "client2" }), false},
		"granted in another place":    {request(named("request-2"), granted, func(r *fleet.ClusterRegistration) { r.Namespace = "other" }), false},
		"it is this very one, looked": {request(granted), false},
	} {
		t.Run(name, func(t *testing.T) {
			h := joining(t)
			h.registrations.Add(test.other)
			in, err := h.observe(h.live("request-1"))
			require.NoError(t, err)
			assert.Equal(t, test.want, in.tokenSpent)
		})
	}
}

// An agent can write the status of its Cluster, and with it the name of a namespace that is another's.
func TestANamespaceIsAClustersOnlyIfItWasMadeForIt(t *testing.T) {
	plain := func(name string, annotations map[string]string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}}
	}
	marks := func(workspace, name string) map[string]string {
		return map[string]string{names.ClusterNamespaceAnnotation: workspace, names.ClusterAnnotation: name}
	}
	leaving := placeOf(edgeUID)
	leaving.DeletionTimestamp = &metav1.Time{Time: now}
	for name, test := range map[string]struct {
		ns   *corev1.Namespace
		want bool
	}{
		"made for it":                {placeOf(edgeUID), true},
		"made for another":           {placeOf("uid-of-another"), false},
		"of an earlier version":      {plain(place, marks(workspace, edge)), true},
		"of another, earlier":        {plain(place, marks(workspace, "other")), false},
		"half of the marks":          {plain(place, map[string]string{names.ClusterAnnotation: edge}), false},
		"unmarked, of its name":      {plain(names.ClusterNamespace(workspace, edge), nil), true},
		"unmarked, of another name":  {plain("kube-system", nil), false},
		"it is on its way out":       {leaving, false},
		"a mark that names no owner": {plain("kube-system", map[string]string{names.OwnerAnnotation: "x"}), false},
	} {
		assert.Equal(t, test.want, isReady(test.ns, cluster()), name)
	}
}

func TestTheGrantFollowsNoStatusIntoAnothersNamespace(t *testing.T) {
	h := joining(t, granted)
	h.namespaces.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "cluster-of-a-victim", Annotations: map[string]string{
		names.OwnerAnnotation: "Cluster/" + workspace + "/victim/uid-of-victim",
	}}})
	h.clusters.Add(cluster(func(c *fleet.Cluster) { c.Status.Namespace = "cluster-of-a-victim" }))

	require.NoError(t, h.look(t, "request-1"))

	assert.Empty(t, h.writes(), "it is neither given nor taken")
}

// R12: that a granted request has no Cluster is read live.
func TestAClusterThatTheCacheMissesIsReadLive(t *testing.T) {
	h := joining(t, granted)
	h.clusters.Lag = true
	h.clusters.Remove(workspace, edge)
	h.clusters.Sync()
	_, err := h.clusters.Create(cluster())
	require.NoError(t, err)
	h.writes()
	cached, err := found(h.clusters.Cache().Get(workspace, edge))
	require.NoError(t, err)
	require.Nil(t, cached)

	in, err := h.observe(h.live("request-1"))
	require.NoError(t, err)
	require.NotNil(t, in.matched)
	assert.NotEqual(t, revoke, decide(in).outcome)

	h.fails["get Cluster fleet-default/edge"] = errors.New("out")
	_, err = h.observe(h.live("request-1"))
	require.ErrorContains(t, err, "out", "a failed read is not a Cluster that is gone")

	delete(h.fails, "get Cluster fleet-default/edge")
	h.clusters.Remove(workspace, edge)
	in, err = h.observe(h.live("request-1"))
	require.NoError(t, err)
	assert.Equal(t, revoke, decide(in).outcome)
}

// A Cluster that is to lose its bundles first needs its agent for that.
func TestALeavingClusterKeepsItsAgentWhileBundlesAreRemoved(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*fleet.Cluster)
		kept   bool
	}{
		"remove":  {func(c *fleet.Cluster) { c.Spec.OnDelete = "remove" }, true},
		"keep":    {func(c *fleet.Cluster) { c.Spec.OnDelete = "keep" }, false},
		"default": {func(*fleet.Cluster) {}, false},
		"revoked": {func(c *fleet.Cluster) { c.Spec.OnDelete, c.Spec.Revoked = "remove", true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := joining(t, granted)
			h.clusters.Add(cluster(test.change, func(c *fleet.Cluster) {
				c.DeletionTimestamp, c.Finalizers = &metav1.Time{Time: now}, []string{names.ClusterFinalizer}
			}))
			in, err := h.observe(h.live("request-1"))
			require.NoError(t, err)
			assert.Nil(t, in.matched)
			if test.kept {
				assert.Equal(t, skip, decide(in).outcome)
				in.request.Status.Approval = &fleet.RegistrationApproval{Decision: approvalDeny}
				assert.Equal(t, revoke, decide(in).outcome, "a person takes it back at any time")
				in.request.Status.Granted, in.request.Status.Approval = false, nil
				assert.NotEqual(t, grant, decide(in).outcome, "nobody is let in any more")
			} else {
				assert.Equal(t, revoke, decide(in).outcome)
			}
		})
	}
}

func TestAClusterThatIsBeingDeletedAnswersNoRequest(t *testing.T) {
	h := joining(t, granted)
	h.clusters.Add(cluster(func(c *fleet.Cluster) { c.DeletionTimestamp = &metav1.Time{Time: now} }))
	in, err := h.observe(h.live("request-1"))
	require.NoError(t, err)
	assert.Empty(t, in.sameClient)
	assert.Nil(t, in.matched)
	assert.Equal(t, "ClusterGone", decide(in).reason)
}
