package clusterimport

import (
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rancher/fleet/pkg/agentmanifest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// nextRecord is the record of an import that is about to be made. Namespaces that the agent leaves are remembered until
// the new agent has reported.
func nextRecord(f facts, p plan, tokenUID, accountUID string, s site) registration.Import {
	next := registration.Import{
		TokenUID: tokenUID, AccountUID: accountUID, ClusterUID: s.place.clusterUID,
		Redeploy:   f.cluster.Spec.RedeployAgentGeneration,
		Replaces:   replaces(f, s),
		Namespace:  f.options.Namespace,
		Kubeconfig: digest(f.secret.Data[keyKubeconfig]),
		Generation: agentmanifest.Generation(f.options),
		Time:       f.now.UTC(), Attempts: p.attempts,
	}
	same := f.record.ClusterUID == "" || f.record.ClusterUID == next.ClusterUID
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

// replaces is the mark that an import replaces. It is kept until the import has come to its end: one that was cut off
// before it wrote its own may still replace that one, and no other.
func replaces(f facts, s site) string {
	switch {
	case s.claim == take:
		return s.mark.digest
	case !f.imported:
		return f.record.Replaces
	}
	return ""
}

// errOvertaken says that somebody else wrote to the Cluster first; the next try sees what.
var errOvertaken = errors.New("the Cluster was changed meanwhile")

// errGone ends an import whose Cluster went meanwhile.
var errGone = errors.New("the Cluster was deleted")

// begin notes that an import is about to be made: until it is reported as done, the one before does not count any more, so
// that one which fails half way is tried again whatever made it due. It returns the facts as they are then.
func (h *handler) begin(f facts, record registration.Import) (facts, error) {
	cluster := f.cluster
	if f.imported || cluster.Status.AgentConfigChanged {
		updated, err := kube.UpdateStatus(h.Clusters, cluster.Namespace, cluster.Name, kube.ClusterStatus, func(status *fleet.ClusterStatus) {
			status.AgentDeployedGeneration, status.AgentConfigChanged = nil, false
		})
		if err != nil {
			return f, err
		}
		if updated == nil {
			return f, errGone
		}
		h.recent.Wrote(updated)
		cluster = updated
	}
	if err := h.writeRecord(cluster, record); err != nil {
		return f, err
	}
	f.cluster = f.cluster.DeepCopy()
	f.cluster.Status.AgentDeployedGeneration = nil
	f.record, f.imported = record, false
	return f, nil
}

// supersede notes that an import is about to take away what the one before gave the agent. An agent that has not used it
// yet would be left with a token that is dead if what made this import due passed before its end.
func (h *handler) supersede(f facts, p plan) error {
	if !f.imported || f.record.Time.IsZero() || f.record.Superseded {
		return nil // it is made to its end anyway
	}
	record := f.record
	record.Superseded, record.Attempts = true, p.attempts
	return h.writeRecord(f.cluster, record)
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
	if apierrors.IsConflict(err) {
		return fmt.Errorf("recording the import on cluster %s/%s: %w: %w", cluster.Namespace, cluster.Name, errOvertaken, err)
	}
	if err != nil {
		return fmt.Errorf("recording the import on cluster %s/%s: %w", cluster.Namespace, cluster.Name, err)
	}
	h.recent.Wrote(updated)
	return nil
}
