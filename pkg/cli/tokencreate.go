package cli

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/registration"
)

const (
	flagTTL         = "ttl"
	flagMaxUses     = "max-uses"
	flagClusterName = "cluster-name"
	flagClientID    = "client-id"
	flagLabel       = "allowed-label"
	flagApproval    = "require-approval"
	flagWait        = "wait"
	flagTimeout     = "timeout"

	// defaultTTL is long enough to install an agent, and short enough to forget about the token.
	defaultTTL = "24h"
	// maxTTL is the longest that the API takes.
	maxTTL = 2562047 * time.Hour
)

func waitFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: flagWait, Usage: "wait until the token can be used"},
		&cli.DurationFlag{Name: flagTimeout, Value: time.Minute, Usage: "how long to wait"},
	}
}

func checkTimeout(c *cli.Context) error {
	if c.Duration(flagTimeout) <= 0 {
		return usagef("--%s is %s: it must be longer than nothing, such as 90s", flagTimeout, c.Duration(flagTimeout))
	}
	return nil
}

func tokenCreateCommand() *cli.Command {
	flags := append(workspaceFlags(), outputFlag(),
		&cli.StringFlag{Name: flagTTL, Value: defaultTTL, Usage: "how long the token is good, such as 90m, 24h or 7d; 0 for no end"},
		&cli.IntFlag{Name: flagMaxUses, Usage: "how many requests it grants, at most 1000; 0 for no limit"},
		&cli.StringFlag{Name: flagClusterName, Usage: "the only Cluster that it registers, and the name that this one gets"},
		&cli.StringSliceFlag{Name: flagClientID, Usage: "a client ID that it registers; once for each. Without it any"},
		&cli.StringSliceFlag{Name: flagLabel, Usage: "key of a label that an agent may give to its new Cluster; once for each, '' for none. Without it any but reserved ones"},
		&cli.BoolFlag{Name: flagApproval, Usage: "each request waits until a person approves it"},
	)
	return &cli.Command{
		Name:      "create",
		Usage:     "make a registration token",
		ArgsUsage: "NAME",
		Description: "Makes a token with which the agent's chart registers clusters. Its values are printed by `fleet token values`.\n\n" +
			"   fleet token create edge --cluster-name edge-2 --wait\n   (umask 077; fleet token values edge > values.yaml)",
		Flags:  append(flags, waitFlags()...),
		Action: createToken,
	}
}

func createToken(c *cli.Context) error {
	typed, err := typedNames(c, 1, 1, "the NAME of the new token")
	if err != nil {
		return err
	}
	spec, err := tokenSpec(c)
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
	token, err := makeToken(c, h, o, spec)
	if err != nil {
		return err
	}
	var waited error
	if c.Bool(flagWait) {
		var ready *fleet.ClusterRegistrationToken
		if ready, waited = awaitToken(c, h, o, token.UID); ready != nil {
			token = ready
		}
	}
	row := newTokenRow(token, time.Now())
	if err := present(c, row, func(out io.Writer) error { return printCreated(out, row) }); err != nil {
		return err
	}
	return waited
}

func makeToken(c *cli.Context, h *hub, o object, spec fleet.ClusterRegistrationTokenSpec) (*fleet.ClusterRegistrationToken, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&spec)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", kindToken, o, err)
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": content}}
	u.SetGroupVersionKind(fleet.SchemeGroupVersion.WithKind(kindToken.name))
	u.SetNamespace(o.workspace)
	u.SetName(o.name)
	made, err := h.resource(kindToken).Namespace(o.workspace).Create(c.Context, u, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil, fmt.Errorf("%s %s exists already: take another name, or delete it with `fleet token delete %s -n %s`", kindToken, o, o.name, o.workspace)
	case errors.Is(notServed(err), errNoHub):
		return nil, errNoHub
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("%s %s cannot be made: workspace %s does not exist; name another with -n, or make it with `kubectl create namespace %s`",
			kindToken, o, o.workspace, o.workspace)
	case err != nil:
		return nil, fmt.Errorf("making %s %s: %w", kindToken, o, err)
	}
	return convert[fleet.ClusterRegistrationToken](made)
}

func printCreated(out io.Writer, row tokenRow) error {
	end := "it has no end"
	if row.Expires != nil {
		end = "it ends " + clock(row.Expires)
	}
	lines := []string{fmt.Sprintf("Made token %s/%s for %s; %s.", row.Workspace, row.Name, printable(row.limits(), maxSentence), end)}
	if row.Expires == nil {
		lines = append(lines, "Where the hub requires an end (chart value controller.registrationTokenTTL.required) it deletes this token.")
	}
	if row.Message != "" {
		lines = append(lines, "The hub says of it: "+printable(row.Message, maxSentence))
	}
	lines = append(lines, fmt.Sprintf("Next: `(umask 077; fleet token values %s -n %s --wait > values.yaml)`, and install the agent's chart with that file.", row.Name, row.Workspace))
	_, err := fmt.Fprintln(out, strings.Join(lines, "\n"))
	return err
}

// maxUses is the highest limit that the API server takes: the uses are remembered one by one.
const maxUses = 1000

// tokenSpec reads the flags, and refuses what the hub would.
func tokenSpec(c *cli.Context) (fleet.ClusterRegistrationTokenSpec, error) {
	spec := fleet.ClusterRegistrationTokenSpec{ClusterName: c.String(flagClusterName), RequireApproval: c.Bool(flagApproval)}
	ttl, err := parseTTL(c.String(flagTTL))
	if err != nil {
		return spec, err
	}
	if ttl > 0 {
		spec.TTL = &metav1.Duration{Duration: ttl}
	}
	switch uses := c.Int(flagMaxUses); {
	case uses < 0 || uses > maxUses:
		return spec, usagef("--%s is %d: it must be a number from 1 to %d, or 0 for no limit", flagMaxUses, uses, maxUses)
	case uses > 0:
		limit := int32(uses)
		spec.MaxUses = &limit
	}
	if spec.ClusterName != "" {
		if err := validName("--"+flagClusterName, spec.ClusterName); err != nil {
			return spec, err
		}
	}
	for _, id := range c.StringSlice(flagClientID) {
		if strings.TrimSpace(id) == "" {
			return spec, usagef("--%s is empty; leave it out to allow any", flagClientID)
		}
		if err := registration.ValidateClientID(id); err != nil {
			return spec, usagef("--%s is %.64q, which no agent can have: %s", flagClientID, id, err)
		}
		spec.ClientIDs = append(spec.ClientIDs, id)
	}
	if c.IsSet(flagLabel) {
		labels, err := labelKeys(c.StringSlice(flagLabel))
		if err != nil {
			return spec, err
		}
		spec.AllowedLabels = &labels
	}
	return spec, nil
}

// labelKeys are the keys that are allowed; an empty one allows none.
func labelKeys(typed []string) ([]string, error) {
	keys := []string{}
	for _, key := range typed {
		switch {
		case key == "":
		case len(validation.IsQualifiedName(key)) > 0:
			return nil, usagef("--%s is %.80q: that is no key of a label", flagLabel, key)
		case registration.IsReservedLabel(key):
			return nil, usagef("--%s is %.80q: this key is the hub's, an agent can never set it", flagLabel, key)
		default:
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// parseTTL reads a duration, with days as well.
func parseTTL(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	ttl, err := time.ParseDuration(text)
	if err != nil || ttl < 0 || ttl > maxTTL {
		return 0, usagef("--%s is %.32q: it must be a duration such as 90m, 24h or 7d, or 0 for no end", flagTTL, text)
	}
	return ttl, nil
}
