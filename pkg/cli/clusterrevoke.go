package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/registration"
)

const flagCutWatches = "cut-watches"

func revokeFlags() []cli.Flag {
	return append(workspaceFlags(), outputFlag(),
		&cli.DurationFlag{Name: flagTimeout, Value: time.Minute, Usage: "how long to wait for the hub"},
		&cli.BoolFlag{Name: flagDryRun, Usage: "say what would be done, and do nothing"})
}

func revokeCommand() *cli.Command {
	return &cli.Command{
		Name:      "revoke",
		Usage:     "take a cluster's access to the hub away, and keep it away",
		ArgsUsage: "NAME",
		Description: "Sets spec.revoked of the Cluster, and waits until the hub says that nothing is left of what its agent was given. What\n" +
			"runs on the cluster stays. A watch on BundleDeployments that is open goes on until it ends by itself: --cut-watches ends\n" +
			"those of all agents, by a change of the description of the kind. They list again, and those that may go on.\n\n" +
			"   fleet cluster revoke edge-1 -n fleet-default --cut-watches",
		Flags: append(revokeFlags(),
			&cli.BoolFlag{Name: flagCutWatches, Usage: "end all watches on BundleDeployments; needs the right to get and update CustomResourceDefinitions"}),
		Action: func(c *cli.Context) error { return revokeCluster(c, true) },
	}
}

func readmitCommand() *cli.Command {
	return &cli.Command{
		Name:      "readmit",
		Usage:     "let a cluster that was revoked come back",
		ArgsUsage: "NAME",
		Description: "Takes spec.revoked off the Cluster, and waits until the hub has a new namespace for it. Its agent has to register anew.\n\n" +
			"   fleet cluster readmit edge-1 -n fleet-default",
		Flags:  revokeFlags(),
		Action: func(c *cli.Context) error { return revokeCluster(c, false) },
	}
}

// revocation is what was done about one cluster. Its JSON is an interface: it is added to, and not changed.
type revocation struct {
	Workspace string `json:"workspace"`
	Name      string `json:"name"`
	Revoked   bool   `json:"revoked"`
	// Namespace is the cluster's on the hub.
	Namespace  string `json:"namespace,omitempty"`
	WatchesCut bool   `json:"watchesCut,omitempty"`
	// Tokens are the registration tokens that its agents have come with and that still live.
	Tokens []string `json:"tokens,omitempty"`
	Result string   `json:"result"`
}

// revokeCluster revokes a cluster, or readmits it.
func revokeCluster(c *cli.Context, revoked bool) error {
	typed, err := typedNames(c, 1, 1, "the NAME of one cluster")
	if err != nil {
		return err
	}
	if err := checkTimeout(c); err != nil {
		return err
	}
	h, err := connect(c)
	if err != nil {
		return err
	}
	o := h.in(c, typed[0])
	cluster, err := find[fleet.Cluster](c.Context, h, kindCluster, o)
	if err != nil {
		return err
	}
	if why := notRevoked(cluster, revoked); why != "" {
		return fmt.Errorf("cluster %s: %s", o, why)
	}
	var tokens []string
	if revoked { // before it is carried out: requests that lead to nothing are collected
		tokens = h.livingTokens(c, cluster)
	}
	if c.Bool(flagDryRun) {
		would := revocationOf(cluster, "would be: "+intention(c, cluster, revoked))
		would.Tokens = tokens
		return presentRevocation(c, would)
	}
	if !revoked {
		// A hub that sees a revocation and its end at once would not know of the first.
		if cluster, err = awaitRevoked(c, h, o, true); err != nil {
			return err
		}
	}
	if err := writeRevoked(c.Context, h, cluster, revoked); err != nil {
		return err
	}
	now, err := awaitRevoked(c, h, o, revoked)
	if err != nil {
		return err
	}
	done := revocationOf(now, intention(c, now, revoked))
	done.Tokens = tokens
	if c.Bool(flagCutWatches) {
		if err := cutWatches(c.Context, h, time.Now()); err != nil {
			return fmt.Errorf("cluster %s is revoked, but %w", o, err)
		}
		done.WatchesCut = true
	}
	return presentRevocation(c, done)
}

func revocationOf(c *fleet.Cluster, result string) revocation {
	return revocation{Workspace: c.Namespace, Name: c.Name, Revoked: c.Spec.Revoked, Namespace: c.Status.Namespace, Result: result}
}

func presentRevocation(c *cli.Context, r revocation) error {
	return present(c, r, func(out io.Writer) error {
		_, err := fmt.Fprintf(out, "%s/%s: %s\n", r.Workspace, r.Name, r.Result)
		if err == nil && len(r.Tokens) > 0 {
			_, err = fmt.Fprintf(out, "Who has the cluster may have these registration tokens too, with which it can come back as another one: `fleet token delete %s -n %s` takes them away; what is registered stays.\n",
				strings.Join(r.Tokens, " "), r.Workspace)
		}
		return err
	})
}

// notRevoked says why an order has no sense, empty where it has.
func notRevoked(c *fleet.Cluster, revoked bool) string {
	switch {
	case c.DeletionTimestamp != nil:
		return "it is being deleted, which takes its access away; condition Processed says what that waits for"
	case registration.IsManagedElsewhere(c):
		return "another manager has it (label fleet.cattle.io/cluster-management)"
	case !revoked && !c.Spec.Revoked:
		return "it is not revoked"
	}
	return ""
}

// intention says what comes of an order.
func intention(c *cli.Context, cluster *fleet.Cluster, revoked bool) string {
	switch {
	case revoked && c.Bool(flagCutWatches):
		return "its agent has lost its access to the hub; all watches on BundleDeployments were ended"
	case revoked:
		return "its agent has lost its access to the hub; a watch on the BundleDeployments of namespace " + orDash(cluster.Status.Namespace) +
			" that was open goes on until it ends, and sees no secret and nothing new (--" + flagCutWatches + " ends it)"
	case registration.JoinMethod(cluster) == registration.JoinedByAgent:
		return fmt.Sprintf("readmitted; its agent needs the values of a new token: `fleet token create NAME -n %s --cluster-name %s --wait`, then `fleet token values`",
			cluster.Namespace, cluster.Name)
	}
	return "readmitted; the hub imports it again by itself"
}

// writeRevoked writes the mark onto exactly the Cluster that was looked at.
func writeRevoked(ctx context.Context, h *hub, cluster *fleet.Cluster, revoked bool) error {
	if cluster.Spec.Revoked == revoked {
		return nil
	}
	return patchCluster(ctx, h, cluster, "spec.revoked", map[string]any{"spec": map[string]any{"revoked": revoked}}, nil)
}

// patchCluster merges a change into a Cluster, unless that was made anew meanwhile, or is, as same sees it, another than was
// decided about.
func patchCluster(ctx context.Context, h *hub, cluster *fleet.Cluster, what string, change map[string]any, same func(*fleet.Cluster) error) error {
	name, uid := object{cluster.Namespace, cluster.Name}, cluster.UID
	var err error
	for range attempts {
		metadata, _ := change["metadata"].(map[string]any)
		if metadata == nil {
			metadata = map[string]any{}
		}
		metadata["resourceVersion"], metadata["uid"] = cluster.ResourceVersion, uid
		change["metadata"] = metadata
		var patch []byte
		if patch, err = json.Marshal(change); err != nil {
			return fmt.Errorf("cluster %s: %w", name, err)
		}
		_, err = h.resource(kindCluster).Namespace(name.workspace).Patch(ctx, name.name, types.MergePatchType, patch, metav1.PatchOptions{})
		if !apierrors.IsConflict(err) {
			break
		}
		if cluster, err = find[fleet.Cluster](ctx, h, kindCluster, name); err != nil {
			return err
		}
		if cluster.UID != uid {
			return fmt.Errorf("cluster %s was deleted and made anew meanwhile: repeat the command if the new one is meant", name)
		}
		if same != nil {
			if err := same(cluster); err != nil {
				return err
			}
		}
		err = errors.New("others write to it all the time")
	}
	if err != nil {
		return fmt.Errorf("writing %s of cluster %s: %w", what, name, err)
	}
	return nil
}

// awaitRevoked waits until the hub says that it has done what was ordered.
func awaitRevoked(c *cli.Context, h *hub, o object, revoked bool) (*fleet.Cluster, error) {
	var cluster *fleet.Cluster
	last := errors.New("the hub says nothing of it: does its controller run?")
	timeout := c.Duration(flagTimeout)
	err := wait.PollUntilContextTimeout(c.Context, lookAgain, timeout, true, func(ctx context.Context) (bool, error) {
		found, err := readOne[fleet.Cluster](ctx, h, kindCluster, o)
		switch {
		case apierrors.IsNotFound(err):
			return false, fmt.Errorf("cluster %s was deleted while it was waited for", o)
		case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
			return false, fmt.Errorf("waiting for cluster %s: %w", o, err)
		case err != nil && ctx.Err() == nil:
			last = err // a hub that is busy may answer the next time
		}
		if err != nil {
			return false, nil
		}
		cluster = found
		said := conditions.GetCondition(found.Status.Conditions, fleet.ClusterConditionRevoked)
		if said != nil && said.Message != "" {
			last = fmt.Errorf("the hub says: %s: %s", said.Reason, said.Message)
		}
		if found.Spec.Revoked != revoked {
			return false, fmt.Errorf("somebody else has set spec.revoked of cluster %s to %t meanwhile", o, found.Spec.Revoked)
		}
		if revoked {
			return conditions.IsTrue(found.Status.Conditions, fleet.ClusterConditionRevoked), nil
		}
		return said != nil && said.Reason == "Readmitted", nil
	})
	if errors.Is(err, context.DeadlineExceeded) && c.Context.Err() == nil {
		return cluster, fmt.Errorf("cluster %s: spec.revoked is %t, and holds; waited %s in vain for the hub to carry that out: %w", o, revoked, timeout, last)
	}
	return cluster, err
}
