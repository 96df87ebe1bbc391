package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// Reasons of condition Unique.
const (
	reasonShared = "SharedCluster"
	reasonUnique = "Unique"
)

const (
	// maxSharers is how many other Clusters are named.
	maxSharers = 3
	// maxWoken is how many of them are looked at again when one changes.
	maxWoken = 100
)

// realUIDs are the UIDs of kube-system that a Cluster is known to lead to: by the pin of its agent, which is a claim of an
// agent that joined by itself, and by the last import.
func realUIDs(c *fleet.Cluster) []string {
	var uids []string
	if pin, err := registration.PinOf(c.Annotations); err == nil && pin != nil && names.IsUID(pin.ClusterUID) {
		uids = append(uids, pin.ClusterUID)
	}
	if record, ok := registration.ImportOf(c.Annotations); ok && names.IsUID(record.ClusterUID) && !slices.Contains(uids, record.ClusterUID) {
		uids = append(uids, record.ClusterUID)
	}
	return uids
}

// realKeys are realUIDs of a Cluster that has its agent there, or may get it back.
func realKeys(c *fleet.Cluster) ([]string, error) {
	if c == nil || c.DeletionTimestamp != nil || c.Spec.Revoked || registration.IsSkipped(c) {
		return nil, nil
	}
	return realUIDs(c), nil
}

// observeShared finds the other Clusters that lead to the same cluster.
func (h *handler) observeShared(cluster *fleet.Cluster) ([]*fleet.Cluster, error) {
	uids, err := realKeys(cluster)
	if err != nil {
		return nil, err
	}
	return h.leadingTo(uids, cluster)
}

func (h *handler) leadingTo(uids []string, but *fleet.Cluster) ([]*fleet.Cluster, error) {
	var others []*fleet.Cluster
	for i, uid := range uids {
		all, err := h.Clusters.Cache().GetByIndex(clustersByReal, uid)
		if err != nil {
			return nil, fmt.Errorf("listing clusters by their UID: %w", err)
		}
		for _, c := range all {
			if c.UID != but.UID && (i == 0 || !slices.Contains(others, c)) {
				others = append(others, c)
			}
		}
	}
	return others, nil
}

// onSharer looks at the Clusters that lead to the same cluster as one that is new, has changed in that, or is gone. Whoever
// has a token for many clusters can claim one UID for all of them: not more are woken than a person would look at.
func (h *handler) onSharer(before, now *fleet.Cluster) {
	was, _ := realKeys(before)
	is, _ := realKeys(now)
	if slices.Equal(was, is) {
		return
	}
	about := now
	if about == nil {
		about = before
	}
	others, err := h.leadingTo(slices.Concat(was, is), about)
	if err != nil {
		logrus.WithField("cluster", about.Namespace+"/"+about.Name).Errorf("Who leads to the same cluster could not be found out: %v", err)
		return
	}
	for _, c := range others[:min(len(others), maxWoken)] {
		h.Clusters.Enqueue(c.Namespace, c.Name)
	}
}

// sharers names the Clusters of a workspace, empty where there are none: the first by their names, so that the same are named
// each time. Those of other workspaces are counted: whoever claims a UID with a token must not be told who has it, and where.
func sharers(workspace string, others []*fleet.Cluster) string {
	var first []string
	elsewhere := 0
	for _, c := range others {
		if c.Namespace != workspace {
			elsewhere++
			continue
		}
		name := c.Namespace + "/" + c.Name
		at, _ := slices.BinarySearch(first, name)
		if at < maxSharers {
			first = slices.Insert(first, at, name)
			first = first[:min(len(first), maxSharers)]
		}
	}
	text := strings.Join(first, ", ")
	if more := len(others) - elsewhere - maxSharers; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if elsewhere > 0 {
		text = strings.TrimPrefix(fmt.Sprintf("%s, %d of other workspaces", text, elsewhere), ", ")
	}
	return text
}

// reportShared says that a cluster is behind several Clusters. Nobody is removed for it: two agents in namespaces of their own
// may be meant, and the UID of an agent that joined by itself is only claimed.
func reportShared(status *fleet.ClusterStatus, sharers string, now time.Time) {
	if sharers == "" {
		if conditions.GetCondition(status.Conditions, fleet.ClusterConditionUnique) != nil {
			conditions.SetCondition(&status.Conditions, fleet.ClusterConditionUnique, metav1.ConditionTrue, reasonUnique, "", now)
		}
		return
	}
	conditions.SetCondition(&status.Conditions, fleet.ClusterConditionUnique, metav1.ConditionFalse, reasonShared,
		fmt.Sprintf("the same cluster, by the UID of its kube-system, is behind other Clusters, %s: what the bundles of both deploy meets there; delete one of them unless two agents are meant", sharers), now)
}
