package cli

import (
	"fmt"
	"io"
	"sort"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/registration"
	"github.com/rancher/fleet/pkg/version"
)

// pageSize is how many objects one answer of the API server brings.
const pageSize = 500

func clusterCommand() *cli.Command {
	return &cli.Command{
		Name:  "cluster",
		Usage: "see the clusters of a hub",
		Subcommands: []*cli.Command{{
			Name:   "list",
			Usage:  "list clusters: how they are, how they joined, what their agents report",
			Flags:  hubFlags(),
			Action: listClusters,
		}},
	}
}

// hubFlags say which hub, and which workspace of it, a person means.
func hubFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "kubeconfig", Usage: "kubeconfig of the hub; without it as kubectl finds it"},
		&cli.StringFlag{Name: "context", Usage: "context of the kubeconfig"},
		&cli.StringFlag{Name: "namespace", Aliases: []string{"n"}, Usage: "workspace; without it all of them"},
		&cli.BoolFlag{Name: "all-namespaces", Aliases: []string{"A"}, Usage: "all workspaces"},
	}
}

func listClusters(c *cli.Context) error {
	namespace := c.String("namespace")
	if c.Bool("all-namespaces") {
		namespace = metav1.NamespaceAll
	}
	cfg, err := kube.UserConfig(c.String("kubeconfig"), c.String("context"), "fleet/"+version.Version)
	if err != nil {
		return err
	}
	objects, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("clients: %w", err)
	}
	clients, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("clients: %w", err)
	}
	known, err := readHub(c.Context, objects, clients, namespace)
	if err != nil {
		return err
	}
	return printClusters(c.App.Writer, known, namespace, time.Now())
}

func printClusters(out io.Writer, known hubState, namespace string, now time.Time) error {
	clusters := known.clusters
	sort.Slice(clusters, func(i, j int) bool {
		a, b := clusters[i], clusters[j]
		return a.Namespace < b.Namespace || a.Namespace == b.Namespace && a.Name < b.Name
	})
	if len(clusters) == 0 {
		where := "on this hub"
		if namespace != metav1.NamespaceAll {
			where = "in workspace " + printable(namespace, maxName)
		}
		_, err := fmt.Fprintf(out, "There are no clusters %s.\n", where)
		return err
	}
	table := tabwriter.NewWriter(out, 0, 8, 3, ' ', 0)
	fmt.Fprintln(table, "WORKSPACE\tNAME\tSTATE\tJOINED BY\tAGENT\tLAST HEARTBEAT\tWAITS FOR")
	for i := range clusters {
		c := &clusters[i]
		state, waitsFor := registration.StateOf(c)
		// What the hub refuses is nearer to the cause than that an agent is waited for.
		if refused := known.refused[c.Namespace+"/"+c.Name]; refused != "" && state != registration.StateBlocked && state != registration.StateLeaving {
			waitsFor = refused
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", printable(c.Namespace, maxName), printable(c.Name, maxName), state,
			registration.JoinMethod(c), orDash(printable(c.Status.Agent.Version, maxWord)), lastBeat(c, known.beats, now),
			orDash(printable(waitsFor, maxSentence)))
	}
	return table.Flush()
}

func lastBeat(c *fleet.Cluster, beats map[string]time.Time, now time.Time) string {
	at := c.Status.Agent.LastSeen.Time
	if beat, ok := beats[c.Status.Namespace]; ok && beat.After(at) {
		at = beat
	}
	if at.IsZero() {
		return "never"
	}
	return duration.HumanDuration(now.Sub(at)) + " ago"
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
