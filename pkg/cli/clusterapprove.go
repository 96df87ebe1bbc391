package cli

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

func clusterApproveCommand() *cli.Command {
	return &cli.Command{
		Name:      "approve",
		Usage:     "say that a cluster has one agent, which the hub doubts",
		ArgsUsage: "NAME",
		Description: "Two agents seemed to use the one credential of the cluster: its AgentConnected says CloneSuspected, and it is given\n" +
			"nothing new. End the copy first, or find that there is none. What this takes off comes back if they go on.\n\n" +
			"   fleet cluster approve edge-1 -n fleet-default",
		Flags:  append(workspaceFlags(), outputFlag(), &cli.BoolFlag{Name: flagDryRun, Usage: "show what is suspected, and approve nothing"}),
		Action: approveCluster,
	}
}

// approval is a suspicion that was approved. Its JSON is an interface: it is added to, and not changed.
type approval struct {
	Workspace string   `json:"workspace"`
	Name      string   `json:"name"`
	Suspected string   `json:"suspected"`
	Instances []string `json:"instances,omitempty"`
	Approved  bool     `json:"approved"`
}

func approveCluster(c *cli.Context) error {
	typed, err := typedNames(c, 1, 1, "the NAME of one cluster")
	if err != nil {
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
	clone, suspected := registration.CloneOf(cluster.Annotations)
	if !suspected {
		return fmt.Errorf("cluster %s: there is nothing to approve, the hub suspects no second agent; a request that waits is approved with `fleet registration approve`", o)
	}
	done := approval{Workspace: o.workspace, Name: o.name, Suspected: clone.Why, Instances: clone.Instances, Approved: !c.Bool(flagDryRun)}
	if done.Approved {
		shown := cluster.Annotations[names.CloneAnnotation]
		change := map[string]any{"metadata": map[string]any{"annotations": map[string]any{names.CloneAnnotation: nil}}}
		err := patchCluster(c.Context, h, cluster, "annotation "+names.CloneAnnotation, change, func(now *fleet.Cluster) error {
			if now.Annotations[names.CloneAnnotation] != shown {
				return fmt.Errorf("the suspicion against cluster %s has changed since it was read: look at it again", o)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return present(c, done, func(out io.Writer) error {
		text := "was suspected, and is approved: it gets what waits for it"
		if !done.Approved {
			text = "nothing was written; suspected is"
		}
		_, err := fmt.Fprintf(out, "%s/%s: %s (%s)\n", done.Workspace, done.Name, text, printable(clone.Message(cluster), maxSentence))
		return err
	})
}
