package clusterregistration

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// maxAnswer bounds what is repeated of the API server's answer, in characters: a webhook writes it, and the labels that it
// may repeat are an agent's choice.
const maxAnswer = 400

// createCluster makes the Cluster that a request is for. Where the API server, a webhook or a policy refuses it, the request
// says so.
func (h *handler) createCluster(in input, d decision) error {
	r, cluster := in.request, d.cluster
	if before := h.refusals.of(r, cluster); before != nil {
		return h.apply(in, *before)
	}
	_, err := h.Clusters.Create(cluster)
	if err == nil {
		return nil // the Cluster's event brings the request back
	}
	if apierrors.IsAlreadyExists(err) {
		// The cache has not seen it yet. It may be another client's, whose event does not bring this request back.
		h.Registrations.EnqueueAfter(r.Namespace, r.Name, cacheLag)
		return nil
	}
	failed := fmt.Errorf("creating cluster %s: %w", cluster.Name, err)
	refusal, passes := refusedCluster(cluster.Name, err)
	if refusal == nil {
		return failed
	}
	if !passes {
		h.refusals.remember(r, cluster, *refusal)
	}
	if err := h.apply(in, *refusal); err != nil {
		return err
	}
	if passes {
		return failed
	}
	return nil
}

// ofTheMoment are answers that say nothing of a Cluster: the hub's credential, a kind that is not served for now, a load.
var ofTheMoment = []int{http.StatusUnauthorized, http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests}

// refusedCluster is what is said of a request whose Cluster the API server does not take, and whether that may pass by
// itself; nil for a failure of the moment. What is forbidden may be allowed once a quota has room or a right is given, a
// webhook that fails may answer again. What is invalid stays so: the Cluster follows from the request alone.
func refusedCluster(name string, err error) (refusal *decision, passes bool) {
	end := "correct in the agent's chart or on this hub what that names, then delete the request: its sender asks again"
	switch code := statusOf(err); {
	case code == http.StatusForbidden && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), code == http.StatusInternalServerError:
		passes, end = true, "the hub tries again by itself, ever more slowly: see to the quota, the right, the policy or the webhook that this names"
	case code < http.StatusBadRequest, code >= http.StatusInternalServerError, slices.Contains(ofTheMoment, code):
		return nil, false
	}
	d := refused(nil, reasonClusterRefused, "the API server of this hub does not take cluster %s: %s; %s", name, registration.Printable(err.Error(), maxAnswer), end)
	return &d, passes
}

// statusOf is the status code that an API server answered with, 0 for an error of another kind.
func statusOf(err error) int {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return 0
	}
	return int(answer.Status().Code)
}

// refusals remembers the Clusters that the API server refused for good. An event of the request, such as that of the
// refusal's own note, is no reason to try the same again.
type refusals struct {
	mu sync.Mutex
	by map[string]refusal
}

type refusal struct {
	request types.UID
	// cluster is the digest of what was refused.
	cluster  string
	decision decision
}

func refusalKey(r *fleet.ClusterRegistration) string { return r.Namespace + "/" + r.Name }

func (f *refusals) remember(r *fleet.ClusterRegistration, cluster *fleet.Cluster, d decision) {
	hash, err := names.FieldHash(cluster)
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.by[refusalKey(r)] = refusal{request: r.UID, cluster: hash, decision: d}
}

// of is how this very Cluster was refused for a request, nil where it was not.
func (f *refusals) of(r *fleet.ClusterRegistration, cluster *fleet.Cluster) *decision {
	f.mu.Lock()
	known, ok := f.by[refusalKey(r)]
	f.mu.Unlock()
	if !ok || known.request != r.UID {
		return nil
	}
	if hash, err := names.FieldHash(cluster); err != nil || hash != known.cluster {
		return nil
	}
	return &known.decision
}

func (f *refusals) forget(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.by, key)
}
