package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/discovery"

	"github.com/rancher/fleet/pkg/helmdeployer/render"
)

const (
	// establishTimeout is how long a definition may take until its kind is served.
	establishTimeout = time.Minute
	// goneTimeout is how long an object may take to go.
	goneTimeout = time.Minute
	readyPeriod = time.Second
	soonPeriod  = 50 * time.Millisecond
	// maxNamed is how many objects an error names.
	maxNamed = 5
)

// TimedOutError says what a wait has not seen in its time.
type TimedOutError struct {
	After time.Duration
	// For is what was waited for, Missing what did not come.
	For     string
	Missing []string
}

func (e *TimedOutError) Error() string {
	shown := e.Missing
	if len(shown) > maxNamed {
		shown = append(append([]string(nil), shown[:maxNamed]...), fmt.Sprintf("%d more", len(e.Missing)-maxNamed))
	}
	return fmt.Sprintf("timed out waiting for the condition: %s after %s: %s", e.For, e.After, strings.Join(shown, ", "))
}

// Wait waits until objects are ready.
func (c *Client) Wait(resources kube.ResourceList, timeout time.Duration) error {
	return c.ready(resources, timeout, kube.PausedAsReady(true))
}

// WaitWithJobs waits until objects are ready, and Jobs done.
func (c *Client) WaitWithJobs(resources kube.ResourceList, timeout time.Duration) error {
	return c.ready(resources, timeout, kube.PausedAsReady(true), kube.CheckJobs(true))
}

func (c *Client) ready(resources kube.ResourceList, timeout time.Duration, options ...kube.ReadyCheckerOption) error {
	checker := kube.NewReadyChecker(c.identity.Kube, c.Log, options...)
	return c.await("not ready", resources, timeout, readyPeriod, func(ctx context.Context, info *resource.Info) (bool, error) {
		ready, err := checker.IsReady(ctx, info)
		if err != nil && isTransient(err) {
			return false, nil
		}
		return ready, err
	})
}

// WaitForDelete waits until objects are gone.
func (c *Client) WaitForDelete(resources kube.ResourceList, timeout time.Duration) error {
	if timeout <= 0 {
		timeout = HookTimeout
	}
	return c.await("still there", resources, timeout, 4*soonPeriod, func(_ context.Context, info *resource.Info) (bool, error) {
		object, err := Live(info)
		if err != nil && !isTransient(err) {
			return false, err
		}
		return err == nil && object == nil, nil
	})
}

// WatchUntilReady waits for a hook. Helm's own wait cannot be ended: left alone, it ends at its timeout.
func (c *Client) WatchUntilReady(resources kube.ResourceList, timeout time.Duration) error {
	if timeout <= 0 {
		timeout = HookTimeout
	}
	defer Waiting(c.ctx)()
	done := make(chan error, 1)
	go func() {
		done <- safely("hook "+strings.Join(named(resources), ", "), func() error { return c.Client.WatchUntilReady(resources, timeout) })
	}()
	select {
	case err := <-done:
		if wait.Interrupted(err) || errors.Is(err, context.DeadlineExceeded) {
			return &TimedOutError{After: timeout, For: "hook not done", Missing: named(resources)}
		}
		return err
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
}

// await looks at all objects until each was as wanted once; which are not yet is known at every moment.
func (c *Client) await(what string, resources kube.ResourceList, timeout, period time.Duration, done func(context.Context, *resource.Info) (bool, error)) error {
	ctx, cancel := context.WithTimeout(c.ctx, timeout)
	defer cancel()
	defer Waiting(c.ctx)()
	left := resources
	err := wait.PollUntilContextCancel(ctx, period, true, func(ctx context.Context) (bool, error) {
		var missing kube.ResourceList
		for _, info := range left {
			ok, err := done(ctx, info)
			if err != nil && ctx.Err() == nil {
				return false, fmt.Errorf("%s %q: %w", info.Mapping.GroupVersionKind.Kind, info.Name, err)
			}
			if !ok {
				missing.Append(info)
			}
		}
		left = missing
		return len(left) == 0, nil
	})
	switch {
	case err == nil:
		return nil
	case c.ctx.Err() != nil:
		return c.ctx.Err()
	case ctx.Err() != nil:
		return &TimedOutError{After: timeout, For: what, Missing: named(left)}
	}
	return err
}

func named(resources kube.ResourceList) []string {
	var all []string
	for _, info := range resources {
		all = append(all, fmt.Sprintf("%s %q", info.Mapping.GroupVersionKind.Kind, info.Name))
	}
	return all
}

// isTransient says whether an API server may answer otherwise in a moment.
func isTransient(err error) bool {
	var unanswered *url.Error
	return apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsNotFound(err) || errors.As(err, &unanswered)
}

// established waits until the kinds of definitions are served, and makes them known.
func (c *Client) established(definitions kube.ResourceList) error {
	served := c.identity.cluster.served
	unknown := definitions.Filter(func(info *resource.Info) bool {
		return slices.ContainsFunc(defined(info), func(kind render.Kind) bool { return !served.knows(kind.Kind) })
	})
	if len(unknown) == 0 {
		return nil
	}
	client := c.identity.Kube.Discovery()
	err := c.await("not served", unknown, establishTimeout, soonPeriod, func(_ context.Context, info *resource.Info) (bool, error) {
		return !slices.ContainsFunc(defined(info), func(kind render.Kind) bool { return !isServed(client, kind) }), nil
	})
	served.refresh(0)
	return err
}

func defined(info *resource.Info) []render.Kind {
	object, ok := info.Object.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	return render.Defined(object)
}

func isServed(client discovery.DiscoveryInterface, kind render.Kind) bool {
	list, err := client.ServerResourcesForGroupVersion(kind.Kind.GroupVersion().String())
	if err != nil {
		return false
	}
	for _, resource := range list.APIResources {
		if resource.Name == kind.Resource.Resource {
			return true
		}
	}
	return false
}
