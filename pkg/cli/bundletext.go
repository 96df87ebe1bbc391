package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/rancher/fleet/pkg/explain/delivery"
)

// shownClusters is how many clusters the text tells the errors of; all are in JSON and YAML.
const shownClusters = 10

// printBundle tells for people. All texts of others come in a form that may be shown.
func printBundle(out io.Writer, e delivery.Explanation, now time.Time) error {
	text := &explainText{out: out, now: now}
	text.bundleHead(e)
	text.rollout(e.Rollout)
	text.clusters(e.Clusters)
	text.clusterTroubles(e.Clusters)
	text.unknown(e.Unknown)
	return text.err
}

func (t *explainText) bundleHead(e delivery.Explanation) {
	more := ""
	if e.Paused {
		more = ", paused"
	}
	t.line("Bundle %s/%s: %s%s, %s clusters ready, %s old", e.Workspace, e.Name, e.State, more, e.ReadyClusters, ago(&e.Created, t.now))
	if e.Problem != "" {
		t.wrapped("Nothing changes until this is mended: ", "  ", e.Problem)
	}
	if e.Behind {
		t.line("The hub has not looked at the bundle since it was changed.")
	}
	t.wrapped("Content: ", "  ", contentText(e.Content))
	switch r := e.Rollout; {
	case r.WaitsFor != "":
		t.wrapped("Rollout waits: ", "  ", r.WaitsFor)
	case len(e.Clusters) == 0:
		t.line("No cluster gets it, and none has it; `fleet target --explain` tells why, of a file with the bundle.")
	default:
		t.line("Rollout: unavailable are %d clusters, of at most %d", r.Unavailable, r.MaxUnavailable)
	}
}

// contentText names a content and its size.
func contentText(c delivery.Content) string {
	switch {
	case c.From != "":
		return orDash(c.ID) + ", from " + c.From
	case c.ID == "":
		return "none"
	}
	return fmt.Sprintf("%s, files: %d, size %s of at most %s", c.ID, c.Resources, bytesText(c.Size), bytesText(c.Limit))
}

func bytesText(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

// rollout has a table where there is more than one partition.
func (t *explainText) rollout(r delivery.Rollout) {
	if len(r.Partitions) < 2 {
		return
	}
	t.line("")
	t.table(func(table io.Writer) {
		fmt.Fprintln(table, "PARTITION\tCLUSTERS\tUNAVAILABLE\tAT MOST")
		for _, p := range r.Partitions {
			fmt.Fprintf(table, "%s\t%d\t%d\t%d\n", cut(p.Name, maxWord), p.Clusters, p.Unavailable, p.MaxUnavailable)
		}
	})
}

func (t *explainText) clusters(list []delivery.Cluster) {
	if len(list) == 0 {
		return
	}
	t.line("")
	t.table(func(table io.Writer) {
		fmt.Fprintln(table, "CLUSTER\tSTATE\tSTEP\tPARTITION\tRUNS\tWAITS FOR")
		for _, c := range list {
			waits := wrap(orDash(c.WaitsFor), widthDetail)
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", clusterName(c), c.State, c.Step, orDash(cut(c.Partition, widthID*2)),
				orDash(cut(c.Content, widthID)), waits[0])
			for _, line := range waits[1:] {
				fmt.Fprintf(table, "\t\t\t\t\t%s\n", line)
			}
		}
	})
}

// clusterName is how a cluster is called; of one that is not known there is the namespace.
func clusterName(c delivery.Cluster) string {
	if c.Name == "" {
		return "in " + c.Namespace
	}
	return c.Workspace + "/" + c.Name
}

// clusterTroubles tells what agents say, for clusters that have something to say.
func (t *explainText) clusterTroubles(list []delivery.Cluster) {
	told, more := 0, 0
	for _, c := range list {
		if c.LastError == "" && len(c.NonReady)+len(c.Modified) == 0 {
			continue
		}
		if told++; told > shownClusters {
			more++
			continue
		}
		t.line("\n%s", clusterName(c))
		if c.LastError != "" {
			t.wrapped("  last error: ", "    ", c.LastError)
		}
		for _, n := range c.NonReady {
			t.wrapped("  not ready: ", "    ", n)
		}
		for _, m := range c.Modified {
			t.wrapped("  modified: ", "    ", m)
		}
	}
	if more > 0 {
		t.line("\nand %d more clusters; -o yaml has all", more)
	}
}
