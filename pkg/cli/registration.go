package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/explain"
)

const (
	flagPending  = "pending"
	flagReplace  = "replace"
	flagKey      = "key"
	flagReason   = "reason"
	flagTakeBack = "take-back"
	flagDryRun   = "dry-run"
)

func registrationCommand() *cli.Command {
	return &cli.Command{
		Name:  "registration",
		Usage: "see the requests of agents, and decide about those that wait for it",
		Subcommands: []*cli.Command{
			{
				Name:  "list",
				Usage: "list registration requests: who asks, and what the hub says",
				Flags: append(listFlags(), outputFlag(),
					&cli.BoolFlag{Name: flagPending, Usage: "only those that are not granted and still may be"}),
				Action: listRequests,
			},
			approveCommand(),
			denyCommand(),
		},
	}
}

func listRequests(c *cli.Context) error {
	if err := checkFlags(c); err != nil {
		return err
	}
	h, err := connect(c)
	if err != nil {
		return err
	}
	var rows []explain.Request
	namespace, err := h.listed(c, func(namespace string) (err error) {
		requests, err := readAll[fleet.ClusterRegistration](c.Context, h, kindRequest, namespace)
		rows = requestRows(requests, c.Bool(flagPending))
		return err
	})
	if err != nil {
		return fmt.Errorf("listing registration requests: %w", err)
	}
	return present(c, newItems(rows), func(out io.Writer) error {
		if err := printRequests(out, rows, namespace, c.Bool(flagPending), time.Now()); err != nil {
			return err
		}
		if hint := hintOf(rows); hint != "" {
			note(c, "%s", hint)
		}
		return nil
	})
}

func requestRows(requests []fleet.ClusterRegistration, pending bool) []explain.Request {
	var rows []explain.Request
	for i := range requests {
		row := explain.NewRequest(&requests[i], nil)
		if !pending || row.Pending {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b explain.Request) int {
		return cmp.Or(cmp.Compare(a.Workspace, b.Workspace), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Name, b.Name))
	})
	return rows
}

func printRequests(out io.Writer, rows []explain.Request, namespace string, pending bool, now time.Time) error {
	if len(rows) == 0 {
		what := "registration requests"
		if pending {
			what = "pending registration requests"
		}
		return nothing(out, what, namespace)
	}
	return columns(out, func(table io.Writer) {
		fmt.Fprintln(table, "WORKSPACE\tNAME\tCLUSTER\tCLIENT ID\tTOKEN\tGRANTED\tREASON\tAGE\tMESSAGE")
		for _, r := range rows {
			granted := "no"
			if r.Granted {
				granted = "yes"
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Workspace, r.Name, orDash(printable(r.Cluster, maxName)),
				printable(r.ClientID, maxWord), orDash(printable(r.Token, maxWord)), granted, orDash(printable(r.Reason, maxWord)),
				ago(r.Created, now), orDash(printable(r.Message, maxSentence)))
		}
	})
}

// hintOf says how to go on, where a person has to.
func hintOf(rows []explain.Request) string {
	waiting := 0
	for _, r := range rows {
		if explain.WaitsForPerson(r.Reason) {
			waiting++
		}
	}
	if waiting == 0 {
		return ""
	}
	return fmt.Sprintf("Waiting for a person's decision: %d. See `fleet cluster explain CLUSTER`; then `fleet registration approve [--replace] NAME -n WORKSPACE`, or deny.", waiting)
}
