package cluster

import (
	"context"
	"fmt"
	"io"
	"time"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/fleet/pkg/helmdeployer/render"
)

// HookTimeout is how long a hook may take where the bundle sets no time.
const HookTimeout = 5 * time.Minute

// Release is which release a client works for.
type Release struct {
	Namespace, Name string
	// Force is the namespace that all objects must be in, hooks too; empty if they may be anywhere.
	Force string
}

// Client is what Helm's actions use during one operation on one release. Their interface has no contexts: this one is the
// operation's, and ends its waits.
type Client struct {
	*kube.Client
	ctx      context.Context
	identity *Identity
	release  Release
	// defined are the kinds that the bundle itself defines.
	defined map[schema.GroupVersionKind]render.Kind
	// Strays are objects as attempts wanted them that failed since the last good revision, oldest first. Nobody knows how
	// far those came: what they may have made or set is removed with what the release had.
	Strays kube.ResourceList
	// Recreate lets objects be removed and made again that cannot be changed, RecreateClasses PriorityClasses alone: nothing is
	// lost with one, and pods keep what they were given by it.
	Recreate, RecreateClasses bool
	// Settle waits, before objects are applied, for those that are being removed.
	Settle bool
	// troubles are errors that Helm does not pass on.
	troubles []error
}

// NewClient is for one operation.
func (i *Identity) NewClient(ctx context.Context, release Release, log func(string, ...any)) *Client {
	inner := &kube.Client{Factory: factory{identity: i}, Log: log, Namespace: release.Namespace}
	return &Client{Client: inner, ctx: ctx, identity: i, release: release, defined: map[schema.GroupVersionKind]render.Kind{}}
}

var (
	_ kube.Interface                    = (*Client)(nil)
	_ kube.InterfaceExt                 = (*Client)(nil)
	_ kube.InterfaceThreeWayMerge       = (*Client)(nil)
	_ kube.InterfaceDeletionPropagation = (*Client)(nil)
)

// Define makes the kinds known that definitions are given for, before the API server serves them.
func (c *Client) Define(objects []*unstructured.Unstructured) {
	for _, object := range objects {
		for _, kind := range render.Defined(object) {
			c.defined[kind.Kind] = kind
		}
	}
}

// Capabilities are what a chart can ask for; fresh ones where it does.
func (c *Client) Capabilities(fresh bool) (*chartutil.Capabilities, error) {
	return c.identity.cluster.served.capabilities(fresh)
}

// IsReachable does nothing: the release's history was just read.
func (c *Client) IsReachable() error { return c.ctx.Err() }

// Trouble is what went wrong in detail where Helm says only that something did.
func (c *Client) Trouble() error {
	if len(c.troubles) == 0 {
		return nil
	}
	return fmt.Errorf("%w", c.troubles[0])
}

// Build makes the objects of a manifest ready to be applied. What Helm wants validated is about to be applied; what it does
// not was applied earlier, and kinds that are gone by now are left out of that: their objects are gone with them.
func (c *Client) Build(reader io.Reader, validate bool) (kube.ResourceList, error) {
	data, err := io.ReadAll(reader)
	if err != nil {
		return nil, err
	}
	objects, err := render.Decode(data)
	if err != nil {
		return nil, err
	}
	if validate {
		c.Define(objects)
	}
	return c.Infos(objects, !validate)
}

// Delete removes objects, those of other releases apart: hooks, which bear no mark.
func (c *Client) Delete(resources kube.ResourceList) (*kube.Result, []error) {
	return c.delete(resources, false, metav1.DeletePropagationBackground)
}

// DeleteWithPropagationPolicy removes the objects of a release that is uninstalled, those only that it has marked as its
// own. The record says which they are, and whoever may write Secrets in its namespace can write any name into it.
func (c *Client) DeleteWithPropagationPolicy(resources kube.ResourceList, policy metav1.DeletionPropagation) (*kube.Result, []error) {
	return c.delete(resources, true, policy)
}

func (c *Client) delete(resources kube.ResourceList, surely bool, policy metav1.DeletionPropagation) (*kube.Result, []error) {
	own, err := c.own(resources, surely)
	if err != nil {
		return nil, c.trouble(err)
	}
	if len(own) == 0 {
		return &kube.Result{}, nil
	}
	result, errs := c.Client.DeleteWithPropagationPolicy(own, policy)
	return result, c.trouble(errs...)
}

func (c *Client) trouble(errs ...error) []error {
	c.troubles = append(c.troubles, errs...)
	return errs
}
