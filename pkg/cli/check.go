package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/urfave/cli/v2"
	"k8s.io/client-go/rest"

	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/preflight"
	"github.com/rancher/fleet/pkg/version"
)

const (
	flagTLSMode        = "tls-mode"
	flagAgentNamespace = "agent-namespace"
)

// standardInput is the file name that stands for it.
const standardInput = "-"

func checkCommand() *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "look, before a cluster joins, whether it can",
		ArgsUsage: "KUBECONFIG|VALUES",
		Description: "Looks at a kubeconfig as the hub would use it, or at the values of a registration token as an agent would that\n" +
			"is installed with them, and says of each check what was found and what to do. The argument is a file, or - for\n" +
			"standard input; what it is is told by its content. A Secret that holds one of the two is read as well. Nothing is\n" +
			"written anywhere. The checks are made from this machine: run the command where the hub's or the agent's pods have\n" +
			"the same way. The other side is looked at if --kubeconfig or --context names it; KUBECONFIG alone does not. It ends with 0\n" +
			"if no check failed, and else with 1.\n\n" +
			"   fleet cluster check edge-1.kubeconfig\n" +
			"   fleet cluster check --kubeconfig hub.kubeconfig edge-1.kubeconfig\n" +
			"   fleet cluster check --context edge-1 values.yaml\n" +
			"   kubectl -n fleet-default get secret edge-1-kubeconfig -o yaml | fleet cluster check -",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: flagKubeconfig, Usage: "kubeconfig of the other side, to be looked at too: of the hub for a kubeconfig, of the cluster that is to join for values"},
			&cli.StringFlag{Name: flagContext, Usage: "context of the other side's kubeconfig"},
			&cli.StringFlag{Name: flagTLSMode, Usage: "strict or system-store, in place of what the hub's configuration or the values say of agentTLSMode"},
			&cli.StringFlag{Name: flagAgentNamespace, Usage: "namespace of the agent, where it is not that of the hub's controller"},
			&cli.StringFlag{Name: flagSystem, Value: names.DefaultSystemNamespace, Usage: "namespace of the hub's controller and its configuration"},
			outputFlag(),
		},
		Action: checkJoining,
	}
}

func checkJoining(c *cli.Context) error {
	if err := checkArguments(c, 1, 1, "a file, or - for standard input"); err != nil {
		return err
	}
	if mode := c.String(flagTLSMode); !slices.Contains([]string{"", kube.TLSStrict, kube.TLSSystemStore}, mode) {
		return usagef("--%s is %.32q: it must be %s or %s", flagTLSMode, mode, kube.TLSStrict, kube.TLSSystemStore)
	}
	other, err := otherSide(c)
	if err != nil {
		return err
	}
	document, err := readDocument(c.Args().First(), c.App.Reader)
	if err != nil {
		return err
	}
	report := preflight.Run(c.Context, document, preflight.Options{
		TLSMode: c.String(flagTLSMode), AgentNamespace: c.String(flagAgentNamespace), SystemNamespace: c.String(flagSystem),
		Other: other, UserAgent: "fleet/" + version.Version,
	})
	if err := present(c, report, func(out io.Writer) error { return printReport(out, report) }); err != nil {
		return err
	}
	if failures := report.Failures(); failures > 0 {
		return errors.New(failedText(failures, len(report.Checks)))
	}
	return nil
}

// otherSide is looked at only where it is named: what kubectl would take for a kubeconfig may be any cluster.
func otherSide(c *cli.Context) (*rest.Config, error) {
	if c.String(flagKubeconfig) == "" && c.String(flagContext) == "" {
		return nil, nil
	}
	cfg, err := kube.UserConfig(c.String(flagKubeconfig), c.String(flagContext), "fleet/"+version.Version)
	if err != nil {
		return nil, fmt.Errorf("the other side cannot be looked at: %w", err)
	}
	return cfg, nil
}

// readDocument reads a file, or standard input, as far as documents may go.
func readDocument(path string, input io.Reader) ([]byte, error) {
	if path != standardInput {
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("the file to look at: %w", err)
		}
		defer file.Close()
		input = file
	}
	document, err := io.ReadAll(io.LimitReader(input, preflight.MaxInput+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return document, nil
}
