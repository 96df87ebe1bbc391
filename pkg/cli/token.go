package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/registration"
)

func tokenCommand() *cli.Command {
	return &cli.Command{
		Name:  "token",
		Usage: "make, see and end registration tokens, with which agents register clusters",
		Subcommands: []*cli.Command{
			tokenCreateCommand(),
			{
				Name:   "list",
				Usage:  "list registration tokens: until when they are good, and for whom",
				Flags:  append(listFlags(), outputFlag()),
				Action: listTokens,
			},
			tokenValuesCommand(),
			{
				Name:      "delete",
				Usage:     "delete registration tokens; clusters that are registered are not touched",
				ArgsUsage: "NAME...",
				Flags:     workspaceFlags(),
				Action:    deleteTokens,
			},
		},
	}
}

// States of a token, beside the reasons of its condition Ready.
const (
	tokenReady   = "Ready"
	tokenEnded   = "Ended"
	tokenLeaving = "Leaving"
	tokenNew     = "New"
)

// tokenRow is a registration token in a list. Its JSON is an interface: it is added to, and not changed.
type tokenRow struct {
	Workspace string `json:"workspace"`
	Name      string `json:"name"`
	// State is Ready, New, Ended, Leaving, or the reason why the token cannot be used.
	State   string       `json:"state"`
	Created *metav1.Time `json:"created,omitempty"`
	// Expires is missing where the token has no end.
	Expires *metav1.Time `json:"expires,omitempty"`
	Secret  string       `json:"secret,omitempty"`
	// ForCluster is the only Cluster that it registers; Imports says that the hub made it to import that one.
	ForCluster      string    `json:"forCluster,omitempty"`
	Imports         bool      `json:"imports,omitempty"`
	ClientIDs       []string  `json:"clientIDs,omitempty"`
	AllowedLabels   *[]string `json:"allowedLabels,omitempty"`
	RequireApproval bool      `json:"requireApproval,omitempty"`
	MaxUses         *int32    `json:"maxUses,omitempty"`
	Uses            int32     `json:"uses,omitempty"`
	// Message is what the hub says of the token.
	Message string `json:"message,omitempty"`
}

func newTokenRow(t *fleet.ClusterRegistrationToken, now time.Time) tokenRow {
	row := tokenRow{
		Workspace: t.Namespace, Name: t.Name, State: tokenNew, Expires: t.Status.Expires, Secret: t.Status.SecretName,
		ForCluster: t.Spec.ClusterName, ClientIDs: t.Spec.ClientIDs, AllowedLabels: t.Spec.AllowedLabels,
		RequireApproval: t.Spec.RequireApproval, MaxUses: t.Spec.MaxUses, Uses: t.Status.Uses,
	}
	if !t.CreationTimestamp.IsZero() {
		row.Created = &t.CreationTimestamp
	}
	if row.Expires == nil && t.Spec.TTL != nil && t.Spec.TTL.Duration > 0 && row.Created != nil { // the hub has not looked yet
		row.Expires = &metav1.Time{Time: t.CreationTimestamp.Add(t.Spec.TTL.Duration).UTC()}
	}
	if cluster, _ := registration.MadeForCluster(t); cluster != "" {
		row.ForCluster, row.Imports = cluster, true
	}
	ready := conditions.GetCondition(t.Status.Conditions, fleet.TokenConditionReady)
	if ready != nil {
		row.Message = ready.Message
	}
	if crowded := registration.CrowdedMessage(t); crowded != "" {
		row.Message = strings.TrimSuffix(crowded+". "+row.Message, ". ")
	}
	switch {
	case t.DeletionTimestamp != nil:
		row.State = tokenLeaving
	case row.Expires != nil && !row.Expires.After(now):
		row.State = tokenEnded
	case conditions.IsTrue(t.Status.Conditions, fleet.TokenConditionReady), ready == nil && row.Secret != "":
		row.State = tokenReady
	case ready != nil:
		row.State = ready.Reason
	}
	return row
}

// limits says in words for whom a token is good.
func (r tokenRow) limits() string {
	var said []string
	switch {
	case r.Imports:
		said = append(said, "import of "+r.ForCluster)
	case r.ForCluster != "":
		said = append(said, "cluster "+r.ForCluster)
	}
	if n := len(r.ClientIDs); n == 1 {
		said = append(said, "client "+r.ClientIDs[0])
	} else if n > 1 {
		said = append(said, fmt.Sprintf("%d clients", n))
	}
	if r.RequireApproval {
		said = append(said, "who is approved")
	}
	if r.MaxUses != nil {
		said = append(said, fmt.Sprintf("%d of %d used", r.Uses, *r.MaxUses))
	} else if r.Uses > 0 { // the hub's configuration has a limit
		said = append(said, fmt.Sprintf("%d used", r.Uses))
	}
	if len(said) == 0 {
		return "any cluster"
	}
	return strings.Join(said, ", ")
}

func listTokens(c *cli.Context) error {
	if err := checkFlags(c); err != nil {
		return err
	}
	h, err := connect(c)
	if err != nil {
		return err
	}
	var tokens []fleet.ClusterRegistrationToken
	namespace, err := h.listed(c, func(namespace string) (err error) {
		tokens, err = readAll[fleet.ClusterRegistrationToken](c.Context, h, kindToken, namespace)
		return err
	})
	if err != nil {
		return fmt.Errorf("listing registration tokens: %w", err)
	}
	now := time.Now()
	rows := make([]tokenRow, 0, len(tokens))
	for i := range tokens {
		rows = append(rows, newTokenRow(&tokens[i], now))
	}
	slices.SortFunc(rows, func(a, b tokenRow) int {
		return cmp.Or(cmp.Compare(a.Workspace, b.Workspace), cmp.Compare(a.Name, b.Name))
	})
	if len(rows) == 0 {
		h.noteMissing(c, namespace)
	}
	return present(c, newItems(rows), func(out io.Writer) error { return printTokens(out, rows, namespace, now) })
}

func printTokens(out io.Writer, rows []tokenRow, namespace string, now time.Time) error {
	if len(rows) == 0 {
		return nothing(out, "registration tokens", namespace)
	}
	return columns(out, func(table io.Writer) {
		fmt.Fprintln(table, "WORKSPACE\tNAME\tSTATE\tENDS\tGOOD FOR\tSECRET\tNOTE")
		for _, r := range rows {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Workspace, r.Name, printable(r.State, maxWord), until(r.Expires, now),
				cut(printable(r.limits(), maxSentence), widthDetail), orDash(r.Secret), orDash(cut(printable(r.Message, maxSentence), widthCell)))
		}
	})
}

func deleteTokens(c *cli.Context) error {
	typed, err := typedNames(c, 1, 100, "the NAME of each token")
	if err != nil {
		return err
	}
	h, err := connect(c)
	if err != nil {
		return err
	}
	var failed []error
	for _, token := range typed {
		failed = append(failed, deleteToken(c, h, h.in(c, token)))
	}
	return errors.Join(failed...)
}

// deleteToken deletes exactly the token that it has read.
func deleteToken(c *cli.Context, h *hub, o object) error {
	token, err := find[fleet.ClusterRegistrationToken](c.Context, h, kindToken, o)
	if err != nil {
		return err
	}
	err = h.resource(kindToken).Namespace(o.workspace).Delete(c.Context, o.name, *kube.ByUID(token.UID))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %s %s: %w", kindToken, o, err)
	}
	text := "Its account ends within moments; agents that are registered are not touched."
	if cluster, _ := registration.MadeForCluster(token); cluster != "" {
		text = fmt.Sprintf("The hub makes another when it imports cluster %s again.", cluster)
	}
	_, err = fmt.Fprintf(c.App.Writer, "Deleted token %s. %s\n", o, text)
	return err
}
