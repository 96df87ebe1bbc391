package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/urfave/cli/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/explain"
	"github.com/rancher/fleet/pkg/registration"
)

func clusterCommand() *cli.Command {
	return &cli.Command{
		Name:  "cluster",
		Usage: "see the clusters of a hub and how far they are, check one before it joins, order agents anew, and take access away",
		Subcommands: []*cli.Command{
			{
				Name:   "list",
				Usage:  "list clusters: how they are, how they joined, what their agents report",
				Flags:  append(listFlags(), outputFlag()),
				Action: listClusters,
			},
			explainCommand(),
			redeployCommand(),
			revokeCommand(),
			readmitCommand(),
			clusterApproveCommand(),
			checkCommand(),
		},
	}
}

// clusterRow is a cluster in a list. Its JSON is an interface: it is added to, and not changed.
type clusterRow struct {
	Workspace    string `json:"workspace"`
	Name         string `json:"name"`
	State        string `json:"state"`
	JoinedBy     string `json:"joinedBy"`
	AgentVersion string `json:"agentVersion,omitempty"`
	// LastHeartbeat is missing where none has come.
	LastHeartbeat *metav1.Time `json:"lastHeartbeat,omitempty"`
	WaitsFor      string       `json:"waitsFor,omitempty"`
}

func listClusters(c *cli.Context) error {
	if err := checkFlags(c); err != nil {
		return err
	}
	h, err := connect(c)
	if err != nil {
		return err
	}
	var known hubState
	namespace, err := h.listed(c, func(namespace string) (err error) {
		known, err = readHub(c.Context, h, namespace)
		return err
	})
	if err != nil {
		return err
	}
	rows := clusterRows(known)
	if len(rows) == 0 {
		h.noteMissing(c, namespace)
	}
	return present(c, newItems(rows), func(out io.Writer) error { return printClusters(out, rows, namespace, time.Now()) })
}

func clusterRows(known hubState) []clusterRow {
	rows := make([]clusterRow, 0, len(known.clusters))
	for i := range known.clusters {
		c := &known.clusters[i]
		state, waitsFor := explain.StateOf(c, known.requests[c.Namespace+"/"+c.Name])
		rows = append(rows, clusterRow{
			Workspace: c.Namespace, Name: c.Name, State: state, JoinedBy: registration.JoinMethod(c),
			AgentVersion: c.Status.Agent.Version, LastHeartbeat: lastBeat(c, known.beats), WaitsFor: waitsFor,
		})
	}
	slices.SortFunc(rows, func(a, b clusterRow) int {
		return cmp.Or(cmp.Compare(a.Workspace, b.Workspace), cmp.Compare(a.Name, b.Name))
	})
	return rows
}

func printClusters(out io.Writer, rows []clusterRow, namespace string, now time.Time) error {
	if len(rows) == 0 {
		return nothing(out, "clusters", namespace)
	}
	return columns(out, func(table io.Writer) {
		fmt.Fprintln(table, "WORKSPACE\tNAME\tSTATE\tJOINED BY\tAGENT\tLAST HEARTBEAT\tWAITS FOR")
		for _, r := range rows {
			beat := "never"
			if r.LastHeartbeat != nil {
				beat = ago(r.LastHeartbeat, now) + " ago"
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", printable(r.Workspace, maxName), printable(r.Name, maxName), r.State,
				r.JoinedBy, orDash(printable(r.AgentVersion, maxWord)), beat, orDash(cut(printable(r.WaitsFor, maxSentence), widthCell)))
		}
	})
}

// lastBeat is when the agent was heard last, nil if it never was.
func lastBeat(c *fleet.Cluster, beats map[string]time.Time) *metav1.Time {
	at := c.Status.Agent.LastSeen.Time
	if beat, ok := beats[c.Status.Namespace]; ok && beat.After(at) {
		at = beat
	}
	if at.IsZero() {
		return nil
	}
	return &metav1.Time{Time: at.UTC()}
}
