package preflight

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// atOnce is how many questions about permissions are under way at a time.
const atOnce = 8

// caller asks an API server as one account. Each call may take as long as limit.
type caller struct {
	clients kubernetes.Interface
	http    *http.Client
	base    *url.URL
	limit   time.Duration
}

// newCaller makes the clients for a config. Nothing is sent yet. Close it after use.
func newCaller(cfg *rest.Config, limit time.Duration) (*caller, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1 // what is asked is bounded here, and the server has its own limits
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	// A server that redirects would have this machine ask others in its name.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	clients, err := kubernetes.NewForConfigAndClient(cfg, client)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("address of the API server: %w", err)
	}
	return &caller{clients: clients, http: client, base: base, limit: limit}, nil
}

func (c *caller) close() { utilnet.CloseIdleConnectionsFor(c.http.Transport) }

func (c *caller) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.limit)
}

// ask makes one call, which may take as long as any.
func ask[T any](ctx context.Context, c *caller, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	return call(ctx)
}

// whoAmI asks the server whom it takes this account for.
func (c *caller) whoAmI(ctx context.Context) (string, error) {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	review, err := c.clients.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return review.Status.UserInfo.Username, nil
}

// may asks whether this account may do something.
func (c *caller) may(ctx context.Context, n need) (bool, error) {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	review := &authorizationv1.SelfSubjectAccessReview{}
	if n.path != "" {
		review.Spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: n.path, Verb: n.verb}
	} else {
		review.Spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
			Verb: n.verb, Group: n.group, Namespace: n.namespace, Name: n.name,
		}
		review.Spec.ResourceAttributes.Resource, review.Spec.ResourceAttributes.Subresource, _ = strings.Cut(n.resource, "/")
	}
	answer, err := c.clients.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return answer.Status.Allowed, nil
}

// refused are those of needs that this account does not have, in their order. The first error ends the asking.
func (c *caller) refused(ctx context.Context, needs []need) ([]need, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answers := make([]bool, len(needs))
	slots := make(chan struct{}, atOnce)
	var asking sync.WaitGroup
	for i, n := range needs {
		slots <- struct{}{}
		asking.Go(func() {
			defer func() { <-slots }()
			if ctx.Err() != nil {
				return
			}
			yes, err := c.may(ctx, n)
			if err != nil {
				cancel(err)
			}
			answers[i] = yes
		})
	}
	asking.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	var out []need
	for i, n := range needs {
		if !answers[i] {
			out = append(out, n)
		}
	}
	return out, nil
}

// installer asks for what is needed to put an agent onto the cluster. Who may do everything is asked nothing else.
func (c *caller) installer(ctx context.Context, needs []need) allowed {
	lacks, err := c.refused(ctx, everything)
	if err != nil || len(lacks) == 0 {
		return allowed{all: err == nil, err: err}
	}
	gives, err := c.refused(ctx, givesEverything)
	if err != nil {
		return allowed{err: err}
	}
	lacks, err = c.refused(ctx, needs)
	return allowed{gives: len(gives) == 0, refused: lacks, err: err}
}

// timedOut turns the end of a call's time into words.
func timedOut(err error) error {
	if isTimeout(err) {
		return errors.New("no answer in time")
	}
	return err
}
