package clusterregistration

import (
	"fmt"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// collect deletes a request whose time is over, exactly as it was judged; its account and permissions go after it. It
// says whether the request is done with.
func (h *handler) collect(in input, d decision) (done bool, err error) {
	r := in.request
	if r.Status.Granted || denied(r) {
		// The judgement rests on a token or an account that the cache does not have.
		if keep, err := h.stillServed(in, d); keep || err != nil {
			return false, err
		}
	}
	options := kube.ByUID(r.UID)
	options.Preconditions.ResourceVersion = &r.ResourceVersion
	err = h.Registrations.Delete(r.Namespace, r.Name, options)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return true, nil // somebody has just decided on it; that event brings it back
	}
	if err != nil {
		return false, fmt.Errorf("deleting it after registration.ttlUngranted: %w", err)
	}
	logrus.WithField("request", r.Namespace+"/"+r.Name).Infof("Deleted a request that led to nothing: registration.ttlUngranted (%s) is over", ungrantedTTL(in.config))
	return true, nil
}

func (h *handler) stillServed(in input, d decision) (bool, error) {
	if in.importAccountUID == "" {
		if gone, err := h.importAccountGone(in); err != nil || !gone {
			return true, err
		}
	}
	if !in.request.Status.Granted {
		return false, nil
	}
	return h.heartbeatUses(in.request, d.cluster)
}

// heartbeatUses reads live whether an agent works with what a request was granted, though that is not noted yet.
func (h *handler) heartbeatUses(r *fleet.ClusterRegistration, c *fleet.Cluster) (bool, error) {
	if offeredPin(r) == nil {
		live, err := found(h.Clusters.Get(c.Namespace, c.Name, metav1.GetOptions{}))
		if err != nil {
			return false, fmt.Errorf("reading cluster %s: %w", c.Name, err)
		}
		if live != nil && seenSince(r, live) {
			return true, nil
		}
	}
	lease, err := found(h.Clients.CoordinationV1().Leases(c.Status.Namespace).Get(h.ctx, names.HeartbeatLease, metav1.GetOptions{}))
	if err != nil {
		return false, fmt.Errorf("reading the heartbeat of cluster %s: %w", c.Name, err)
	}
	if lease == nil || lease.Spec.HolderIdentity == nil {
		return false, nil
	}
	holder, ok := registration.ParseHolder(*lease.Spec.HolderIdentity)
	return ok && registration.RecordByDigest(r.Status.Credentials, holder.Digest) != nil, nil
}

// seenSince is for agents that do not name their credential: one was seen since it was made.
func seenSince(r *fleet.ClusterRegistration, c *fleet.Cluster) bool {
	for _, record := range r.Status.Credentials {
		if record.Issued != nil && c.Status.Agent.LastSeen.After(record.Issued.Time) {
			return true
		}
	}
	return false
}
