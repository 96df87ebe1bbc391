package heartbeat

import (
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// paceLongest and paceShortest bound how often the hub makes sure of its own touch with its API server.
const (
	paceLongest  = 10 * time.Second
	paceShortest = 500 * time.Millisecond
)

// Pace is how often that is, so that the hub knows of what it missed well within the grace of its agents. A touch that is
// lost for less costs an agent one heartbeat, for which the grace has room.
func Pace(c config.Config) time.Duration {
	return min(max(c.AgentHeartbeatInterval.Duration/6, paceShortest), paceLongest)
}

// see takes in a Lease, or the check-in of an agent without one, as the cache has it. It says whether that has to be
// judged.
func (h *handler) see(lease *coordinationv1.Lease, cluster *fleet.Cluster) (evidence, bool) {
	e := evidence{cluster: cluster, now: h.Clock.Now(), grace: h.grace(lease)}
	var judge bool
	if renewed := renewTime(lease); renewed.IsZero() && !cluster.Status.Agent.LastSeen.IsZero() {
		e.legacy, e.grace = true, registration.Grace(h.checkin())
		e.pulse, judge = h.tracker.observe(lease.Namespace, "", cluster.Status.Agent.LastSeen.Time, cluster.CreationTimestamp.Time, e.now, e.grace)
	} else {
		e.pulse, judge = h.tracker.observe(lease.Namespace, holderOf(lease), renewed, lease.CreationTimestamp.Time, e.now, e.grace)
	}
	return e, judge
}

// seePastTheCache is for an agent that is about to be called silent, which has it imported again: a watch that broke, or
// is behind, shows no renewal either. Of one whose Lease or Cluster is gone nothing is known; that event comes.
func (h *handler) seePastTheCache(e *evidence) (known bool, err error) {
	var renewed time.Time
	if e.legacy {
		var live *fleet.Cluster
		if live, err = h.Clusters.Get(e.cluster.Namespace, e.cluster.Name, metav1.GetOptions{}); err == nil {
			renewed = live.Status.Agent.LastSeen.Time
		}
	} else {
		var live *coordinationv1.Lease
		if live, err = h.Leases.Get(e.cluster.Status.Namespace, names.HeartbeatLease, metav1.GetOptions{}); err == nil {
			renewed = renewTime(live)
		}
	}
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cluster %s/%s: looking for its last heartbeat: %w", e.cluster.Namespace, e.cluster.Name, err)
	}
	e.now = h.Clock.Now()
	e.pulse = h.tracker.observeRead(e.cluster.Status.Namespace, renewed, e.now)
	return true, nil
}
