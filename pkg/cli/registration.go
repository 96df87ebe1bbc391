package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/urfave/cli/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/explain"
	"github.com/rancher/fleet/pkg/names"
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
	var known around
	namespace, err := h.listed(c, func(namespace string) error {
		requests, err := readAll[fleet.ClusterRegistration](c.Context, h, kindRequest, namespace)
		if err != nil {
			return err
		}
		known = readAround(c.Context, h, namespace)
		rows = requestRows(requests, known, c.Bool(flagPending))
		return nil
	})
	if err != nil {
		return fmt.Errorf("listing registration requests: %w", err)
	}
	for _, missing := range known.missing {
		note(c, "What is said of the requests is not complete: %v", missing)
	}
	if len(rows) == 0 {
		h.noteMissing(c, namespace)
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

// around are the Clusters and tokens that requests are about, by workspace and name.
type around struct {
	clusters map[string]*fleet.Cluster
	tokens   map[string]*fleet.ClusterRegistrationToken
	// missing says what could not be read.
	missing []error
}

// readAround reads what there is to requests, as far as the person may: who may not sees less, and is told so.
func readAround(ctx context.Context, h *hub, namespace string) around {
	found := around{clusters: map[string]*fleet.Cluster{}, tokens: map[string]*fleet.ClusterRegistrationToken{}}
	found.note(kindCluster, each(ctx, h, kindCluster, namespace, metav1.ListOptions{}, func(c *fleet.Cluster) error {
		found.clusters[c.Namespace+"/"+c.Name] = c
		return nil
	}))
	found.note(kindToken, each(ctx, h, kindToken, namespace, metav1.ListOptions{}, func(t *fleet.ClusterRegistrationToken) error {
		found.tokens[t.Namespace+"/"+t.Name] = t
		return nil
	}))
	return found
}

// note keeps that a kind could not be read.
func (a *around) note(what kind, err error) {
	if err != nil {
		a.missing = append(a.missing, fmt.Errorf("listing %s: %w", what.resource, err))
	}
}

func requestRows(requests []fleet.ClusterRegistration, known around, pending bool) []explain.Request {
	var rows []explain.Request
	for i := range requests {
		r := &requests[i]
		row := explain.NewRequest(r, known.clusters[r.Namespace+"/"+r.Status.ClusterName], known.tokens[r.Namespace+"/"+r.Labels[names.RegistrationTokenLabel]])
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
		fmt.Fprintln(table, "WORKSPACE\tNAME\tCLUSTER\tCLIENT ID\tTOKEN\tREASON\tAGE")
		for _, r := range rows {
			cluster := r.Cluster
			if r.NewCluster != "" {
				cluster = "new: " + r.NewCluster
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Workspace, r.Name, orDash(cut(printable(cluster, maxName), maxWord)),
				cut(printable(r.ClientID, maxWord), widthID), orDash(cut(printable(r.Token, maxWord), widthID*2)), orDash(printable(r.Reason, maxWord)),
				ago(r.Created, now))
		}
	})
}

// hintOf says how to go on, where a person has to.
func hintOf(rows []explain.Request) string {
	waiting, refused := 0, 0
	for _, r := range rows {
		switch {
		case explain.WaitsForPerson(r.Reason):
			waiting++
		case !r.Granted:
			refused++
		}
	}
	switch {
	case waiting == 0 && refused == 0:
		return ""
	case waiting == 0:
		return "Why the hub refuses a request, and what ends that, is in `-o yaml`."
	}
	return fmt.Sprintf("Waiting for a person's decision: %d. See `fleet cluster explain CLUSTER`; then `fleet registration approve [--replace] NAME -n WORKSPACE`, or deny.", waiting)
}
