package cli

import (
	"context"
	"fmt"
	"io"
	"sort"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
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
	clusters, err := readClusters(c.Context, objects, namespace)
	if err != nil {
		return err
	}
	beats, err := readBeats(c.Context, clients)
	if err != nil {
		return err
	}
	return printClusters(c.App.Writer, clusters, beats, time.Now())
}

func readClusters(ctx context.Context, client dynamic.Interface, namespace string) ([]fleet.Cluster, error) {
	resource := client.Resource(fleet.SchemeGroupVersion.WithResource(fleet.ClusterResourceNamePlural)).Namespace(namespace)
	var clusters []fleet.Cluster
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := resource.List(ctx, options)
		if apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("this cluster is no hub: kind Cluster of fleet.cattle.io is not served; install the charts fleet-crd and fleet: %w", err)
		}
		if err != nil {
			return nil, fmt.Errorf("listing clusters: %w", err)
		}
		for i := range page.Items {
			var c fleet.Cluster
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(page.Items[i].Object, &c); err != nil {
				return nil, fmt.Errorf("reading cluster %s/%s: %w", page.Items[i].GetNamespace(), page.Items[i].GetName(), err)
			}
			clusters = append(clusters, c)
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return clusters, nil
		}
	}
}

// readBeats are the times of the last heartbeats, by the cluster's namespace. Who may not read Leases sees the slower
// check-ins instead.
func readBeats(ctx context.Context, client kubernetes.Interface) (map[string]time.Time, error) {
	leases, err := client.CoordinationV1().Leases(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: names.ManagedLabel + "=true"})
	if apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing heartbeats: %w", err)
	}
	beats := map[string]time.Time{}
	for _, lease := range leases.Items {
		if lease.Name == names.HeartbeatLease && lease.Spec.RenewTime != nil {
			beats[lease.Namespace] = lease.Spec.RenewTime.Time
		}
	}
	return beats, nil
}

func printClusters(out io.Writer, clusters []fleet.Cluster, beats map[string]time.Time, now time.Time) error {
	sort.Slice(clusters, func(i, j int) bool {
		a, b := clusters[i], clusters[j]
		return a.Namespace < b.Namespace || a.Namespace == b.Namespace && a.Name < b.Name
	})
	if len(clusters) == 0 {
		_, err := fmt.Fprintln(out, "There are no clusters.")
		return err
	}
	table := tabwriter.NewWriter(out, 0, 8, 3, ' ', 0)
	fmt.Fprintln(table, "WORKSPACE\tNAME\tSTATE\tJOINED BY\tAGENT\tLAST HEARTBEAT\tWAITS FOR")
	for i := range clusters {
		c := &clusters[i]
		state, waitsFor := registration.StateOf(c)
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", printable(c.Namespace, maxName), printable(c.Name, maxName), state,
			registration.JoinMethod(c), orDash(printable(c.Status.Agent.Version, maxWord)), lastBeat(c, beats, now),
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
