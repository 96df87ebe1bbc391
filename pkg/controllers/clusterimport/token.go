package clusterimport

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// bootstrapFor is what the agent needs to register, with an import account of this import's own. Nil says that the
// token is being made.
func (h *handler) bootstrapFor(f facts, p plan) (*registration.Bootstrap, *fleet.ClusterRegistrationToken, error) {
	c := f.cluster
	name := names.ImportToken(c.Name)
	token, err := h.Tokens.Cache().Get(c.Namespace, name)
	if apierrors.IsNotFound(err) {
		return nil, nil, h.createToken(c, name)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading token %s: %w", name, err)
	}
	if token.DeletionTimestamp != nil {
		return nil, nil, nil
	}
	if !ownedBy(token, c) {
		return nil, nil, &trouble{reason: "ImportTokenTaken", err: fmt.Errorf(
			"ClusterRegistrationToken %s exists and was not made for this cluster; delete it", name)}
	}
	if spent(token, f, p) {
		if err := h.supersede(f, p); err != nil {
			return nil, nil, err
		}
		if err := kube.Deleted(h.Tokens.Delete(c.Namespace, name, kube.ByUID(token.UID))); err != nil {
			return nil, nil, fmt.Errorf("replacing token %s: %w", name, err)
		}
		return nil, nil, h.createToken(c, name)
	}
	return h.readValues(f, p, token)
}

func ownedBy(token *fleet.ClusterRegistrationToken, c *fleet.Cluster) bool {
	for _, ref := range token.OwnerReferences {
		if ref.UID == c.UID {
			return true
		}
	}
	return false
}

// spent says that a token is of no use for an import: the one before had it, or it ends.
func spent(token *fleet.ClusterRegistrationToken, f facts, p plan) bool {
	return p.fresh && string(token.UID) == f.record.TokenUID || ends(token, f)
}

// takesAway says that an import begins with taking away what the one before gave the agent.
func (h *handler) takesAway(f facts, p plan) bool {
	token, err := h.Tokens.Cache().Get(f.cluster.Namespace, names.ImportToken(f.cluster.Name))
	return err == nil && token.DeletionTimestamp == nil && ownedBy(token, f.cluster) && spent(token, f, p)
}

// ends says that a token has not enough of its life left for an agent to be started and to ask.
func ends(token *fleet.ClusterRegistrationToken, f facts) bool {
	return token.Spec.TTL != nil && token.Spec.TTL.Duration > 0 &&
		token.CreationTimestamp.Add(token.Spec.TTL.Duration).Sub(f.now) < joinPatience
}

func (h *handler) createToken(c *fleet.Cluster, name string) error {
	_, err := h.Tokens.Create(&fleet.ClusterRegistrationToken{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace,
			Name:      name,
			Labels:    map[string]string{names.ManagedLabel: "true"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: fleet.SchemeGroupVersion.String(), Kind: "Cluster", Name: c.Name, UID: c.UID,
			}},
		},
		Spec: fleet.ClusterRegistrationTokenSpec{TTL: &metav1.Duration{Duration: importTokenTTL}},
	})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating token %s: %w", name, err)
	}
	return nil // its values come with an event of their secret
}

func (h *handler) readValues(f facts, p plan, token *fleet.ClusterRegistrationToken) (*registration.Bootstrap, *fleet.ClusterRegistrationToken, error) {
	secret, err := h.Secrets.Cache().Get(token.Namespace, token.Name)
	if apierrors.IsNotFound(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading the values of token %s: %w", token.Name, err)
	}
	if secret.Type != names.ValuesSecretType || !forToken(secret.OwnerReferences, token) {
		return nil, nil, nil
	}
	// The values may lack an address of the hub where only the kubeconfig secret has one; it is put in here, and what is
	// wrong then is found by Validate.
	bootstrap, _ := registration.ParseValues(secret.Data[registration.KeyValues])
	bootstrap.APIServerURL, bootstrap.APIServerCA = p.target.serverURL, p.target.serverCA
	if bootstrap.Token == "" {
		return nil, nil, nil
	}
	if err := bootstrap.Validate(); err != nil {
		return nil, nil, fmt.Errorf("values of token %s: %w", token.Name, err)
	}
	if bootstrap.SystemRegistrationNamespace != f.namespaces.Registration {
		return nil, nil, fmt.Errorf("token %s was made for registration namespace %s, this hub's is %s; delete the token", token.Name, bootstrap.SystemRegistrationNamespace, f.namespaces.Registration)
	}
	return &bootstrap, token, nil
}

// forToken keeps the values of an earlier token of the same name out.
func forToken(refs []metav1.OwnerReference, token *fleet.ClusterRegistrationToken) bool {
	for _, ref := range refs {
		if ref.UID == token.UID {
			return true
		}
	}
	return false
}
