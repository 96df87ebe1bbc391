package clusterimport

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// behind is after what time a cluster is looked at again of which the cache did not show yet what was written.
const behind = 500 * time.Millisecond

// errSlow is why the work of one look ended.
var errSlow = errors.New("an import took too long")

// work is one look at one cluster. An error brings it back after a delay.
func (h *handler) work(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, h.patience, errSlow)
	defer cancel()
	place := relatedresource.FromString(key)
	cluster, err := h.Clusters.Cache().Get(place.Namespace, place.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading cluster %s: %w", key, err)
	}
	if h.recent.IsBehind(cluster) {
		// What was written has an event, which need not show anything that brings the cluster back.
		h.queue.AddAfter(key, behind)
		return nil
	}
	f, err := h.observe(cluster)
	if err != nil {
		return err
	}
	f.lives = livesOf(f)
	p := decide(f)
	for _, wait := range []time.Duration{p.again, livesChange(f)} {
		if wait > 0 {
			h.queue.AddAfter(key, wait)
		}
	}
	switch p.action {
	case nothing:
		return h.reportLives(f)
	case await:
		return h.reportProblem(f, p.reason, p.message)
	case confirm:
		return h.reportHealthy(f)
	case install:
		return h.outcome(ctx, f, p.action, h.install(ctx, f, p))
	case inspect:
		return h.outcome(ctx, f, p.action, h.inspect(ctx, f, p))
	case prune:
		return h.outcome(ctx, f, p.action, h.prune(ctx, f))
	case teardown:
		return h.outcome(ctx, f, p.action, h.teardown(ctx, f))
	}
	return nil
}

// outcome reports a failure, and returns it with what a foreign cluster said bounded, as it goes into the log as well.
func (h *handler) outcome(ctx context.Context, f facts, done action, err error) error {
	if err == nil {
		return nil
	}
	switch {
	case errors.Is(err, errOvertaken):
		return err // it says nothing of the cluster
	case errors.Is(err, errGone):
		return nil // there is nobody to tell
	}
	secret := f.secretNamespace + "/" + f.cluster.Spec.KubeConfigSecret
	reason, message := explain(err, secret, trustOf(f))
	if ended := endedIn(f, err); ended != "" {
		message = ended + "; " + message
	}
	said := message
	switch {
	case errors.Is(context.Cause(ctx), errSlow):
		// At which call that was differs from try to try, and is for the log alone.
		reason, message = reasonUnreachable, unreachable(secret, fmt.Sprintf("it answers so slowly that an import was not done after %s", h.patience))
		said = message + "; at that time: " + plain(err)
	case ctx.Err() != nil:
		return err // this hub stops, which says nothing of the cluster
	}
	if done == install || done == inspect {
		h.ended(reason)
	}
	if statusErr := h.reportProblem(f, reason, message); statusErr != nil {
		logrus.WithField("cluster", f.cluster.Namespace+"/"+f.cluster.Name).Warnf("The failed import could not be reported: %v", statusErr)
	}
	var taken *takenError
	if errors.As(err, &taken) {
		h.awaitPlace(f.cluster, taken)
	}
	var known *trouble
	if errors.As(err, &known) && known.final {
		return nil
	}
	return fmt.Errorf("%s: %s", reason, said)
}

// ended tells whoever counts how an attempt ended.
func (h *handler) ended(reason string) {
	if h.Ended != nil {
		h.Ended(reason)
	}
}

// install puts the agent there: first its own import account, then the record of this import, by which the agent's
// request will be known, then the mark on the agent's namespace, then the objects, at last the secret that sets the agent
// going. The record comes before the mark: whom a mark names is believed as long as that one's record leads there.
func (h *handler) install(ctx context.Context, f facts, p plan) error {
	d, err := h.connect(f)
	if err != nil {
		return err
	}
	defer d.Close()
	if refused(f.cluster) || h.takesAway(f, p) {
		// A look costs less than a token, and a cluster that cannot be reached keeps what its agent was given.
		if _, err := h.visit(ctx, d, f); err != nil {
			return err
		}
	}
	bootstrap, token, err := h.bootstrapFor(f, p)
	if err != nil {
		return ours(err)
	}
	if bootstrap == nil {
		return ours(h.reportStuckToken(f)) // an event of the token brings the cluster back
	}
	s, err := h.visit(ctx, d, f)
	if err != nil {
		return err
	}
	claims, err := registration.ParseClaims(bootstrap.Token)
	if err != nil {
		return ours(fmt.Errorf("reading the import token of %s: %w", token.Name, err))
	}
	if f, err = h.begin(f, nextRecord(f, p, string(token.UID), claims.AccountUID, s)); err != nil {
		return ours(err)
	}
	if err := h.deploy(ctx, d, f, s, *bootstrap); err != nil {
		return err
	}
	h.stopWaiting(f.cluster)
	logrus.WithFields(logrus.Fields{"cluster": f.cluster.Namespace + "/" + f.cluster.Name, "reason": p.reason, "namespace": f.options.Namespace}).Info("Agent deployed")
	return ours(h.reportImported(f, p))
}

// inspect looks where a changed kubeconfig leads. The same cluster with its agent in place needs nothing but the note;
// another cluster, or one without the agent, is imported.
func (h *handler) inspect(ctx context.Context, f facts, p plan) error {
	d, err := h.connect(f)
	if err != nil {
		return err
	}
	defer d.Close()
	s, err := h.visit(ctx, d, f)
	if err != nil {
		return err
	}
	_, err = d.Clients.AppsV1().Deployments(f.options.Namespace).Get(ctx, names.AgentDeployment, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading the agent's Deployment: %w", err)
	}
	if s.place.clusterUID != f.record.ClusterUID || err != nil {
		p.fresh = true
		return h.install(ctx, f, p)
	}
	record := f.record
	record.Kubeconfig = digest(f.secret.Data[keyKubeconfig])
	if err := h.writeRecord(f.cluster, record); err != nil {
		return ours(err)
	}
	return ours(h.reportImported(f, p))
}
