package clusterregistrationtoken

import (
	"errors"
	"fmt"
	"time"

	"github.com/rancher/wrangler/v3/pkg/kv"
	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/registration"
)

// tokenKind is the kind of an owner that may not exist any more.
var tokenKind = fleet.SchemeGroupVersion.WithKind(kind)

// errMadeAnew says that the cache shows a token that is gone; the event of the one that has its name now is to come.
var errMadeAnew = errors.New("it was made anew meanwhile")

func (h *handler) apply(in input, d decision) error {
	if d.ending != alive {
		return h.end(in.token, d)
	}
	in, d, err := h.drop(in, d)
	if err != nil {
		return h.failed(in, d, reasonWrite, err)
	}
	if len(d.objects) > 0 {
		if err := h.set.Apply(h.ctx, in.token, d.objects...); err != nil {
			return h.failed(in, d, reasonAccount, err)
		}
	}
	if d.needsAccount {
		if in, err = h.observeAccount(in); err != nil {
			return h.failed(in, d, reasonAccount, err)
		}
		d = decide(in)
	}
	if d.mint > 0 {
		if in, d, err = h.renew(in); err != nil {
			return h.failed(in, d, reasonRequest, err)
		}
	}
	if err := h.write(d); err != nil {
		return h.failed(in, d, reasonWrite, err)
	}
	if d.recheck > 0 {
		h.Tokens.EnqueueAfter(in.token.Namespace, in.token.Name, d.recheck)
	}
	return h.report(in, d)
}

// renew requests a token for the account, after a last look whether that is really needed: each token that is minted for
// nothing works until it ends.
func (h *handler) renew(in input) (input, decision, error) {
	in, err := h.observeLive(in)
	d := decide(in)
	if err != nil {
		return in, d, err
	}
	if d.mint == 0 {
		return in, d, nil
	}
	minted, err := h.mint(h.ctx, h.Names.Registration, accountName(in.token), d.mint)
	if err != nil {
		return in, d, err
	}
	in.minted = minted.Token
	return in, decide(in), nil
}

// maxAnswer bounds what of the API server's answer is shown, in characters.
const maxAnswer = 512

// failed says in the status what went wrong, and returns it, so that it is tried again. That somebody else was faster is
// nothing to show: the next try follows at once.
func (h *handler) failed(in input, d decision, reason string, err error) error {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return err
	}
	d.ready = ready{reason: reason, message: fmt.Sprintf("Registration token %s/%s: %s. It is tried again",
		in.token.Namespace, in.token.Name, registration.Steady(err.Error(), maxAnswer))}
	if in.values == nil {
		d.secretName = ""
	}
	return errors.Join(err, h.report(in, d))
}

// drop deletes Secrets that are of no use any more. What an earlier token left is deleted only if this token is still the
// one that has its name; whether there is a Secret of this token by now is then looked up.
func (h *handler) drop(in input, d decision) (input, decision, error) {
	if s := d.dropEndless; s != nil {
		if err := h.deleteSecret(s); err != nil {
			return in, d, err
		}
	}
	if d.dropValues == nil {
		return in, d, nil
	}
	live, err := h.Tokens.Get(in.token.Namespace, in.token.Name, metav1.GetOptions{})
	if err != nil {
		return in, d, fmt.Errorf("looking whether it still exists: %w", err)
	}
	if live.UID != in.token.UID {
		return in, d, errMadeAnew
	}
	if err := h.deleteSecret(d.dropValues); err != nil {
		return in, d, err
	}
	if in, err = h.observeLive(in); err != nil {
		return in, d, err
	}
	return in, decide(in), nil
}

func (h *handler) deleteSecret(s *corev1.Secret) error {
	if err := kube.Deleted(h.Secrets.Delete(s.Namespace, s.Name, kube.ByUID(s.UID))); err != nil {
		return fmt.Errorf("deleting Secret %s/%s: %w", s.Namespace, s.Name, err)
	}
	return nil
}

func (h *handler) write(d decision) error {
	if d.createEndless != nil {
		// One that exists is waited for as well: its event comes once the cache has caught up.
		if err := h.create(d.createEndless); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	if d.values == nil {
		return nil
	}
	if d.values.ResourceVersion == "" {
		return h.create(d.values)
	}
	if _, err := h.Secrets.Update(d.values); err != nil {
		return fmt.Errorf("updating Secret %s/%s: %w", d.values.Namespace, d.values.Name, err)
	}
	return nil
}

// create makes a Secret. One that exists already was made since the cache was read: the next pass judges it.
func (h *handler) create(secret *corev1.Secret) error {
	if _, err := h.Secrets.Create(secret); err != nil {
		return fmt.Errorf("creating Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	return nil
}

// report is the one write of the status. It leaves alone what is not this controller's: the uses, other conditions.
func (h *handler) report(in input, d decision) error {
	status := metav1.ConditionFalse
	if d.ready.yes {
		status = metav1.ConditionTrue
	}
	_, err := kube.UpdateStatus(h.Tokens, in.token.Namespace, in.token.Name, kube.ClusterRegistrationTokenStatus,
		func(s *fleet.ClusterRegistrationTokenStatus) {
			if !s.Expires.Equal(d.expires) {
				s.Expires = d.expires
			}
			s.SecretName = d.secretName
			conditions.SetCondition(&s.Conditions, fleet.TokenConditionReady, status, d.ready.reason, d.ready.message, in.now)
			reportProvenance(s, in.provenance, in.now)
		})
	return err
}

// reportProvenance says the same of every token, in the write that each needs anyway. Until something is known, what was
// said before stands.
func reportProvenance(s *fleet.ClusterRegistrationTokenStatus, p registration.Provenance, now time.Time) {
	if !p.Known() {
		return
	}
	status := metav1.ConditionFalse
	if p.Enforced() {
		status = metav1.ConditionTrue
	}
	conditions.SetCondition(&s.Conditions, fleet.TokenConditionProvenanceEnforced, status, p.Reason, p.Message, now)
}

// end takes away what was made for a token, and then the token, which takes its Secret with it. It is in that order so
// that a finalizer on the token keeps nobody in.
func (h *handler) end(token *fleet.ClusterRegistrationToken, d decision) error {
	if err := h.set.Remove(h.ctx, tokenKind, token.Namespace, token.Name); err != nil {
		return err
	}
	if d.ending == beingLeft {
		return h.reportLeaving(token, d)
	}
	err := h.Tokens.Delete(token.Namespace, token.Name, kube.ByUID(token.UID))
	if err != nil && kube.Deleted(err) == nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("deleting it, as %s: %w", d.ending, err)
	}
	logrus.WithField("token", token.Namespace+"/"+token.Name).Infof("Deleted a registration token: %s", d.ending)
	if d.ending == withoutTTL {
		h.Events.Eventf(reference(token), corev1.EventTypeWarning, "TTLRequired", "Deleted: %s. Create it again with one, for example 24h", d.ending)
	}
	return nil
}

// reference names a token for an event; objects from the cache do not say their kind.
func reference(token *fleet.ClusterRegistrationToken) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: fleet.SchemeGroupVersion.String(), Kind: kind, Namespace: token.Namespace, Name: token.Name, UID: token.UID,
	}
}

func (h *handler) reportLeaving(token *fleet.ClusterRegistrationToken, d decision) error {
	now := h.Clock.Now()
	_, err := kube.UpdateStatus(h.Tokens, token.Namespace, token.Name, kube.ClusterRegistrationTokenStatus,
		func(s *fleet.ClusterRegistrationTokenStatus) {
			s.SecretName = ""
			conditions.SetCondition(&s.Conditions, fleet.TokenConditionReady, metav1.ConditionFalse, d.ready.reason, d.ready.message, now)
		})
	return err
}

// forget takes away what was made for a token that is gone. That the cache does not have it is not enough to know.
func (h *handler) forget(key string) error {
	namespace, name := kv.RSplit(key, "/")
	_, err := h.Tokens.Get(namespace, name, metav1.GetOptions{})
	if err == nil {
		return nil
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("registration token %s: looking whether it is gone: %w", key, err)
	}
	return h.set.Remove(h.ctx, tokenKind, namespace, name)
}
