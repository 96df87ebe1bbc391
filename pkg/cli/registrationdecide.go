package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/explain"
	"github.com/rancher/fleet/pkg/names"
)

const (
	// somebody decided where the hub does not say who.
	unknownPerson = "unknown"
	// maxReason bounds what a person gives as a reason, in characters.
	maxReason = 256
	// attempts is how often a write is tried while the hub writes to the same object.
	attempts = 5
)

func decisionFlags() []cli.Flag {
	return append(workspaceFlags(), outputFlag(),
		&cli.StringFlag{Name: flagReason, Usage: "why, in your words; it is kept with the request"},
		&cli.BoolFlag{Name: flagDryRun, Usage: "show what would be decided, and decide nothing"})
}

func approveCommand() *cli.Command {
	return &cli.Command{
		Name:      "approve",
		Usage:     "grant a request that waits for a person",
		ArgsUsage: "NAME",
		Description: "Shows what the request says of itself, and approves it. Where its Cluster is bound to another identity, --replace\n" +
			"is needed: the Cluster is then bound to the identity of the request, and the agent that had it loses its access.\n" +
			"Compare the key first: --dry-run shows it, and the agent writes the fingerprint of its own into its log. With --key\n" +
			"a request that came with another one is not approved.\n\n" +
			"   fleet registration approve --replace request-… --key 1f2e… -n fleet-default --reason 'node rebuilt'",
		Flags: append(decisionFlags(),
			&cli.StringFlag{Name: flagKey, Usage: "approve only if this is the fingerprint of the request's key"},
			&cli.BoolFlag{Name: flagReplace, Usage: "bind the Cluster to the identity of this request, in place of the one that it has"}),
		Action: func(c *cli.Context) error {
			if c.Bool(flagReplace) {
				return decide(c, explain.Replace)
			}
			return decide(c, explain.Approve)
		},
	}
}

func denyCommand() *cli.Command {
	return &cli.Command{
		Name:      "deny",
		Usage:     "refuse a request",
		ArgsUsage: "NAME",
		Description: "Shows what the request says of itself, and denies it. The agent that its Cluster has is not touched.\n\n" +
			"   fleet registration deny request-… -n fleet-default --reason 'nobody knows this machine'",
		Flags: append(decisionFlags(),
			&cli.BoolFlag{Name: flagTakeBack, Usage: "deny also a request that is granted, which takes away what its agent works with"}),
		Action: func(c *cli.Context) error { return decide(c, explain.Deny) },
	}
}

// decide writes a person's decision about the request that the person was shown.
func decide(c *cli.Context, decision string) error {
	typed, err := typedNames(c, 1, 1, "the NAME of one request")
	if err != nil {
		return err
	}
	why := c.String(flagReason)
	if utf8.RuneCountInString(why) > maxReason || printable(why, maxReason) != why {
		return usagef("--%s must be one line of at most %d characters", flagReason, maxReason)
	}
	h, err := connect(c)
	if err != nil {
		return err
	}
	d := decider{hub: h, cli: c, decision: decision, why: why}
	return d.run(h.in(c, typed[0]))
}

type decider struct {
	*hub
	cli           *cli.Context
	decision, why string
}

func (d *decider) run(o object) error {
	ctx := d.cli.Context
	r, err := find[fleet.ClusterRegistration](ctx, d.hub, kindRequest, o)
	if err != nil {
		return err
	}
	cluster := d.clusterOf(r)
	if err := explain.CheckDecision(r, cluster, d.decision, d.cli.Bool(flagTakeBack)); err != nil {
		return fmt.Errorf("%s %s: %w", kindRequest, o, err)
	}
	token := d.tokenOf(r)
	before := explain.NewRequest(r, cluster, token)
	if key := d.cli.String(flagKey); key != "" && key != before.KeyFingerprint {
		return fmt.Errorf("%s %s came with the key %s and not with the one of --%s; nothing was decided: deny it if nobody knows that key",
			kindRequest, o, orNoKey(before.KeyFingerprint), flagKey)
	}
	if f, _ := form(d.cli); f == formTable {
		if err := printDecided(d.cli.App.Writer, before, cluster); err != nil {
			return err
		}
	}
	approval := &fleet.RegistrationApproval{
		Decision: d.decision, By: whoAmI(ctx, d.hub), Reason: d.why, Time: &metav1.Time{Time: time.Now().UTC().Truncate(time.Second)},
	}
	if d.cli.Bool(flagDryRun) {
		return d.done(before, "Nothing was written. Without --"+flagDryRun+": "+decidedText(approval, r.Status.Granted))
	}
	written, err := d.write(r, approval)
	if err != nil {
		return err
	}
	return d.done(explain.NewRequest(written, cluster, token), decidedText(approval, r.Status.Granted))
}

func (d *decider) done(request explain.Request, text string) error {
	return present(d.cli, request, func(out io.Writer) error {
		_, err := fmt.Fprintln(out, text)
		return err
	})
}

// write patches the status of exactly the request that was shown. The hub writes there too: if nothing but its words has
// changed, the decision holds.
func (d *decider) write(r *fleet.ClusterRegistration, approval *fleet.RegistrationApproval) (*fleet.ClusterRegistration, error) {
	ctx, name := d.cli.Context, object{r.Namespace, r.Name}
	for range attempts {
		patch, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"resourceVersion": r.ResourceVersion, "uid": r.UID},
			"status":   map[string]any{"approval": whole(approval)},
		})
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", kindRequest, name, err)
		}
		written, err := d.resource(kindRequest).Namespace(r.Namespace).
			Patch(ctx, r.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		if err == nil {
			return convert[fleet.ClusterRegistration](written)
		}
		if !apierrors.IsConflict(err) {
			return nil, fmt.Errorf("writing status.approval of %s %s: %w", kindRequest, name, err)
		}
		now, err := find[fleet.ClusterRegistration](ctx, d.hub, kindRequest, name)
		if err != nil {
			return nil, err
		}
		if !sameBasis(r, now) {
			break
		}
		r = now
	}
	return nil, fmt.Errorf("%s %s has changed since it was shown: look at it again and repeat the decision", kindRequest, name)
}

// whole is a decision with all its fields, null where there is none: a field that a merge patch leaves out keeps what an
// earlier decision had.
func whole(a *fleet.RegistrationApproval) map[string]any {
	fields := map[string]any{"decision": a.Decision, "by": a.By, "reason": nil, "time": a.Time}
	if a.Reason != "" {
		fields["reason"] = a.Reason
	}
	return fields
}

// sameBasis says whether a decision about one state of a request is a decision about the other.
func sameBasis(a, b *fleet.ClusterRegistration) bool {
	one, other := explain.NewRequest(a, nil, nil), explain.NewRequest(b, nil, nil)
	one.Since, other.Since, one.Message, other.Message = nil, nil, "", ""
	left, err1 := json.Marshal(one)
	right, err2 := json.Marshal(other)
	return a.UID == b.UID && maps.Equal(a.Spec.ClusterLabels, b.Spec.ClusterLabels) && err1 == nil && err2 == nil && string(left) == string(right)
}

// clusterOf is the Cluster that a request is about, nil where there is none or it cannot be read.
func (d *decider) clusterOf(r *fleet.ClusterRegistration) *fleet.Cluster {
	if r.Status.ClusterName == "" {
		return nil
	}
	cluster, err := readOne[fleet.Cluster](d.cli.Context, d.hub, kindCluster, object{r.Namespace, r.Status.ClusterName})
	if err != nil {
		return nil
	}
	return cluster
}

// tokenOf is the token that a request came with, nil where there is none or it cannot be read.
func (d *decider) tokenOf(r *fleet.ClusterRegistration) *fleet.ClusterRegistrationToken {
	name := r.Labels[names.RegistrationTokenLabel]
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return nil
	}
	token, err := readOne[fleet.ClusterRegistrationToken](d.cli.Context, d.hub, kindToken, object{r.Namespace, name})
	if err != nil {
		return nil
	}
	return token
}

// whoAmI is how the hub knows the person.
func whoAmI(ctx context.Context, h *hub) string {
	review, err := h.clients.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil || review.Status.UserInfo.Username == "" {
		return unknownPerson
	}
	return printable(review.Status.UserInfo.Username, maxName)
}
