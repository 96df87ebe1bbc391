package clusterimport

import (
	"fmt"
	"slices"

	"github.com/rancher/fleet/pkg/agentmanifest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// nextRecord is the record of an import that is about to be made. Namespaces that the agent leaves are remembered until
// the new agent has reported.
func nextRecord(f facts, p plan, tokenUID, accountUID, clusterUID string) registration.Import {
	next := registration.Import{
		TokenUID: tokenUID, AccountUID: accountUID, ClusterUID: clusterUID,
		Namespace:  f.options.Namespace,
		Kubeconfig: digest(f.secret.Data[keyKubeconfig]),
		Generation: agentmanifest.Generation(f.options),
		Time:       f.now.UTC(), Attempts: p.attempts,
	}
	same := f.record.ClusterUID == "" || f.record.ClusterUID == clusterUID
	if !same {
		return next
	}
	for _, previous := range append(f.record.Previous, f.record.Namespace) {
		if previous != "" && previous != next.Namespace && !slices.Contains(next.Previous, previous) {
			next.Previous = append(next.Previous, previous)
		}
	}
	return next
}

// begin notes that an import is about to be made: until it is reported as done, the one before does not count any more, so
// that one which fails half way is tried again whatever made it due.
func (h *handler) begin(f facts, record registration.Import) error {
	cluster := f.cluster
	if f.imported || cluster.Status.AgentConfigChanged {
		updated, err := kube.UpdateStatus(h.Clusters, cluster.Namespace, cluster.Name, kube.ClusterStatus, func(status *fleet.ClusterStatus) {
			status.AgentDeployedGeneration, status.AgentConfigChanged = nil, false
		})
		if err != nil || updated == nil {
			return err
		}
		h.written.note(cluster.Namespace+"/"+cluster.Name, updated)
		cluster = updated
	}
	return h.writeRecord(cluster, record)
}

// writeRecord writes the record, unless the same import is only tried once more.
func (h *handler) writeRecord(cluster *fleet.Cluster, record registration.Import) error {
	if have, found := registration.ImportOf(cluster.Annotations); found {
		again := record
		again.Time = have.Time
		if cluster.Status.AgentDeployedGeneration == nil && again.Annotation() == have.Annotation() {
			return nil
		}
	}
	updated := cluster.DeepCopy()
	if updated.Annotations == nil {
		updated.Annotations = map[string]string{}
	}
	updated.Annotations[names.ImportAnnotation] = record.Annotation()
	updated, err := h.Clusters.Update(updated)
	if err != nil {
		return fmt.Errorf("recording the import on cluster %s/%s: %w", cluster.Namespace, cluster.Name, err)
	}
	h.written.note(cluster.Namespace+"/"+cluster.Name, updated)
	return nil
}
