package clusterregistration

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

func (h *handler) observe(r *fleet.ClusterRegistration) (input, error) {
	in := input{request: r, now: h.Clock.Now(), config: h.Config.Get(), namespaces: h.Names, provenance: h.Provenance.Current()}
	var err error
	if in.token, err = h.tokenOf(r); err != nil {
		return in, err
	}
	if err = h.observeClusters(&in); err != nil {
		return in, err
	}
	mine, err := found(h.Accounts.Cache().Get(h.Names.Agents, account(r)))
	if err != nil {
		return in, fmt.Errorf("reading the request account: %w", err)
	}
	if mine != nil {
		has := mine.Annotations[names.OwnerAnnotation]
		in.accountTaken = has != "" && has != owner(r)
	}
	if !r.Status.Granted {
		if in.deniedTwin, err = h.deniedTwin(r); err != nil {
			return in, err
		}
		if in.ungranted, err = h.countKept(r, in.token != nil); err != nil {
			return in, err
		}
	}
	if in.token == nil {
		return in, nil
	}
	_, owner := registration.MadeForCluster(in.token)
	in.tokenOwner = string(owner)
	if in.tokenSpent, err = h.tokenSpent(r, in.token); err != nil {
		return in, err
	}
	importer, err := found(h.Accounts.Cache().Get(h.Names.Registration, names.Account(in.token.Name, string(in.token.UID))))
	if err != nil {
		return in, fmt.Errorf("reading the import account: %w", err)
	}
	if importer != nil {
		in.importAccountUID = string(importer.UID)
	}
	return in, nil
}

// found turns "not found" into nil.
func found[T any](obj *T, err error) (*T, error) {
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return obj, err
}

// tokenOf is the token that a request names. An agent of before tokens had names leaves the label out; the hub's own
// token for the cluster with this client ID is then meant.
func (h *handler) tokenOf(r *fleet.ClusterRegistration) (*fleet.ClusterRegistrationToken, error) {
	name := r.Labels[names.RegistrationTokenLabel]
	if name == "" {
		clusters, err := h.Clusters.Cache().GetByIndex(clustersByClient, clientKey(r.Namespace, r.Spec.ClientID))
		if err != nil || len(clusters) == 0 {
			return nil, err
		}
		name = names.ImportToken(oldest(clusters).Name)
	}
	token, err := found(h.Tokens.Cache().Get(r.Namespace, name))
	if err != nil {
		return nil, fmt.Errorf("reading registration token %s: %w", name, err)
	}
	if token != nil && token.DeletionTimestamp != nil {
		return nil, nil
	}
	return token, nil
}

// tokenSpent says whether another request was granted with a token. All times are the API server's own.
func (h *handler) tokenSpent(r *fleet.ClusterRegistration, token *fleet.ClusterRegistrationToken) (bool, error) {
	others, err := h.Registrations.Cache().GetByIndex(grantsByClient, clientKey(r.Namespace, r.Spec.ClientID))
	if err != nil {
		return false, fmt.Errorf("listing registrations: %w", err)
	}
	for _, other := range others {
		named := other.Labels[names.RegistrationTokenLabel]
		if other.UID != r.UID && (named == "" || named == token.Name) && !other.CreationTimestamp.Before(&token.CreationTimestamp) {
			return true, nil
		}
	}
	return false, nil
}

func (h *handler) observeClusters(in *input) error {
	r := in.request
	all, err := h.Clusters.Cache().GetByIndex(clustersByClient, clientKey(r.Namespace, r.Spec.ClientID))
	if err != nil {
		return fmt.Errorf("listing clusters: %w", err)
	}
	for _, c := range all {
		if c.DeletionTimestamp == nil {
			in.sameClient = append(in.sameClient, c)
		}
	}
	if in.matched, err = h.matched(r, in.sameClient); err != nil {
		return err
	}
	if c := in.matched; c != nil && c.DeletionTimestamp != nil {
		in.matched, in.removing = nil, registration.Removes(c, in.config.ClusterOnDelete)
	}
	if in.byName, err = found(h.Clusters.Cache().Get(r.Namespace, clusterName(r, in.token))); err != nil {
		return fmt.Errorf("reading cluster: %w", err)
	}
	in.placed = map[types.UID]bool{}
	for _, c := range append(in.sameClient, in.matched) {
		if c == nil || c.Status.Namespace == "" {
			continue
		}
		ns, err := found(h.Namespaces.Cache().Get(c.Status.Namespace))
		if err != nil {
			return fmt.Errorf("reading namespace %s: %w", c.Status.Namespace, err)
		}
		in.placed[c.UID] = ns != nil && isReady(ns, c)
	}
	return nil
}

// matched is the Cluster that a request was matched to before. That there is none, or that it is going, is read live: to take
// a grant back on a stale cache would cut a working agent off.
func (h *handler) matched(r *fleet.ClusterRegistration, known []*fleet.Cluster) (*fleet.Cluster, error) {
	name := r.Status.ClusterName
	if name == "" {
		return nil, nil
	}
	for _, c := range known {
		if c.Name == name {
			return c, nil
		}
	}
	c, err := found(h.Clusters.Get(r.Namespace, name, metav1.GetOptions{}))
	if err != nil {
		return nil, fmt.Errorf("reading cluster %s: %w", name, err)
	}
	return c, nil
}

// isReady says whether a grant may go into a namespace: it is the Cluster's, and it stays.
func isReady(ns *corev1.Namespace, c *fleet.Cluster) bool {
	return ns.DeletionTimestamp == nil && registration.IsPlaceOf(ns, c)
}
