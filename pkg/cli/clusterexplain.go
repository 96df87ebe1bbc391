package cli

import (
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/rancher/fleet/pkg/explain"
	"github.com/rancher/fleet/pkg/names"
)

const flagSystem = "system-namespace"

func explainCommand() *cli.Command {
	return &cli.Command{
		Name:      "explain",
		Usage:     "tell how far a cluster's registration is, what it waits for, and what happens next",
		ArgsUsage: "NAME",
		Description: "Tells each step of the handshake with its time, the last error of each side as far as the hub knows it,\n" +
			"what ends some day, and the requests that a person has to decide about. What you may not read is called\n" +
			"unknown. NAME may also be that of a cluster which has no Cluster yet and only asks to be registered.\n\n" +
			"   fleet cluster explain edge-1\n   fleet cluster explain fleet-local/local -o yaml",
		Flags: append(workspaceFlags(), outputFlag(),
			&cli.StringFlag{Name: flagSystem, Value: names.DefaultSystemNamespace, Usage: "namespace of the hub's controller and its configuration"}),
		Action: explainCluster,
	}
}

func explainCluster(c *cli.Context) error {
	typed, err := typedNames(c, 1, 1, "the NAME of one cluster")
	if err != nil {
		return err
	}
	h, err := connect(c)
	if err != nil {
		return err
	}
	reader := factReader{hub: h, ctx: c.Context, system: c.String(flagSystem), now: time.Now()}
	facts, err := reader.facts(h.in(c, typed[0]), typed[0].workspace == "")
	if err != nil {
		return err
	}
	told := explain.Explain(facts)
	return present(c, told, func(out io.Writer) error { return printExplanation(out, told, facts.Now) })
}
