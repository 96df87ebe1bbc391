package clusterregistration

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

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

// sayAgain is how soon a refusal that may pass is told in other words. An answer may differ with each try, by a port or a
// time, and to write that down brings the request back at once.
const sayAgain = time.Minute

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
	if err := h.apply(in, h.refusals.remember(in, cluster, *refusal, passes)); err != nil {
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
	d := refused(nil, reasonClusterRefused, "the API server of this hub does not take cluster %s: %s; %s", name, registration.Steady(err.Error(), maxAnswer), end)
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

// refusals remembers the Clusters that the API server refused. What it refused for good is not tried again: an event of the
// request, such as that of the refusal's own note, is no reason to.
type refusals struct {
	mu sync.Mutex
	by map[string]refusal
}

type refusal struct {
	request types.UID
	// cluster is the digest of what was refused.
	cluster  string
	decision decision
	// passes says that it may pass by itself; at is when it was told in these words.
	passes bool
	at     time.Time
}

func refusalKey(r *fleet.ClusterRegistration) string { return r.Namespace + "/" + r.Name }

// remember keeps a refusal, and returns what is to be said of it.
func (f *refusals) remember(in input, cluster *fleet.Cluster, d decision, passes bool) decision {
	hash, err := names.FieldHash(cluster)
	if err != nil {
		return d
	}
	fresh := refusal{request: in.request.UID, cluster: hash, decision: d, passes: passes, at: in.now}
	f.mu.Lock()
	defer f.mu.Unlock()
	have := f.by[refusalKey(in.request)]
	if passes && have.passes && have.request == fresh.request && have.cluster == hash && in.now.Sub(have.at) < sayAgain {
		return have.decision
	}
	f.by[refusalKey(in.request)] = fresh
	return d
}

// of is how this very Cluster was refused for good for a request, nil where it was not.
func (f *refusals) of(r *fleet.ClusterRegistration, cluster *fleet.Cluster) *decision {
	f.mu.Lock()
	known, ok := f.by[refusalKey(r)]
	f.mu.Unlock()
	if !ok || known.passes || known.request != r.UID {
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
