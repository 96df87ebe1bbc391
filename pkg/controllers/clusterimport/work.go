package clusterimport

import (
	"context"
	"fmt"

	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/agentmanifest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// work is one look at one cluster. An error brings it back after a delay.
func (h *handler) work(ctx context.Context, key string) error {
	place := relatedresource.FromString(key)
	cluster, err := h.Clusters.Cache().Get(place.Namespace, place.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading cluster %s: %w", key, err)
	}
	if h.written.ahead(key, cluster) {
		return nil // the event of what was written brings the cluster back
	}
	f, err := h.observe(cluster)
	if err != nil {
		return err
	}
	p := decide(f)
	if p.again > 0 {
		h.queue.AddAfter(key, p.again)
	}
	switch p.action {
	case await:
		return h.reportProblem(f, p.reason, p.message)
	case install:
		return h.outcome(f, h.install(ctx, f, p))
	case inspect:
		return h.outcome(f, h.inspect(ctx, f, p))
	case prune:
		return h.outcome(f, h.prune(ctx, f))
	case teardown:
		return h.outcome(f, h.teardown(ctx, f))
	}
	return nil
}

func (h *handler) outcome(f facts, err error) error {
	if err == nil {
		return nil
	}
	reason, message := explain(err, f.secretNamespace+"/"+f.cluster.Spec.KubeConfigSecret)
	if statusErr := h.reportProblem(f, reason, message); statusErr != nil {
		logrus.WithField("cluster", f.cluster.Namespace+"/"+f.cluster.Name).Warnf("The failed import could not be reported: %v", statusErr)
	}
	return fmt.Errorf("%s: %w", reason, err)
}

// install puts the agent there: first its own import account, then the record of this import, by which the agent's
// request will be known, then the objects, at last the secret that sets the agent going.
func (h *handler) install(ctx context.Context, f facts, p plan) error {
	bootstrap, token, err := h.bootstrapFor(f, p)
	if err != nil || bootstrap == nil {
		return err // or the token is not ready, and its event brings the cluster back
	}
	d, err := h.connect(f)
	if err != nil {
		return err
	}
	defer d.Close()
	uid, err := clusterUID(ctx, d)
	if err != nil {
		return err
	}
	claims, err := registration.ParseClaims(bootstrap.Token)
	if err != nil {
		return fmt.Errorf("reading the import token of %s: %w", token.Name, err)
	}
	record := nextRecord(f, p, string(token.UID), claims.AccountUID, uid)
	if err := h.writeRecord(f.cluster, record); err != nil {
		return err
	}
	if err := h.deploy(ctx, d, f, *bootstrap); err != nil {
		return err
	}
	logrus.WithFields(logrus.Fields{"cluster": f.cluster.Namespace + "/" + f.cluster.Name, "reason": p.reason, "namespace": f.options.Namespace}).Info("Agent deployed")
	return h.reportImported(f, p)
}

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
		if previous != "" && previous != next.Namespace {
			next.Previous = appendOnce(next.Previous, previous)
		}
	}
	return next
}

func appendOnce(list []string, s string) []string {
	for _, have := range list {
		if have == s {
			return list
		}
	}
	return append(list, s)
}

// writeRecord writes the record, unless the same import is only tried once more.
func (h *handler) writeRecord(cluster *fleet.Cluster, record registration.Import) error {
	have, found := registration.ImportOf(cluster.Annotations)
	if found {
		again := record
		again.Time, again.Attempts = have.Time, have.Attempts
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

// inspect looks where a changed kubeconfig leads. The same cluster with its agent in place needs nothing but the note;
// another cluster, or one without the agent, is imported.
func (h *handler) inspect(ctx context.Context, f facts, p plan) error {
	d, err := h.connect(f)
	if err != nil {
		return err
	}
	defer d.Close()
	uid, err := clusterUID(ctx, d)
	if err != nil {
		return err
	}
	_, err = d.Clients.AppsV1().Deployments(f.options.Namespace).Get(ctx, names.AgentDeployment, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading the agent's Deployment: %w", err)
	}
	if uid != f.record.ClusterUID || err != nil {
		p.fresh = true
		return h.install(ctx, f, p)
	}
	record := f.record
	record.Kubeconfig = digest(f.secret.Data[keyKubeconfig])
	if err := h.writeRecord(f.cluster, record); err != nil {
		return err
	}
	return h.reportImported(f, p)
}

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
	if p.fresh && string(token.UID) == f.record.TokenUID || ends(token, f) {
		if err := h.Tokens.Delete(c.Namespace, name, kube.ByUID(token.UID)); err != nil && !apierrors.IsNotFound(err) {
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
	// The values may lack an address of the hub where only the kubeconfig secret has one; it is put in here.
	bootstrap, err := registration.ParseValues(secret.Data[registration.KeyValues])
	bootstrap.APIServerURL, bootstrap.APIServerCA = p.target.serverURL, p.target.serverCA
	if bootstrap.Token == "" {
		return nil, nil, nil
	}
	if err = bootstrap.Validate(); err != nil {
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
