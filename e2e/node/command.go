package node

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/rancher/fleet/e2e/lab"
)

// CommandName is the subcommand under which programs offer Command. lab.Options.Pods is then the program itself, this
// name, and the product's binary.
const CommandName = "run-pods"

// tokenLife is how long the tokens of agents live; they outlive every lab.
const tokenLife = 7 * 24 * time.Hour

// Command is a node as a process of its own: of the control plane in dir, with agents of the product's binary, until ctx
// ends.
func Command(ctx context.Context, program, dir, kubeconfig string, complain func(format string, args ...any)) error {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("kubeconfig of the control plane: %w", err)
	}
	cfg.QPS, cfg.UserAgent = -1, "node"
	n, err := Start(ctx, Config{
		REST: cfg, Dir: dir, Program: program, Complain: complain,
		Kubeconfig: func(ctx context.Context, namespace, account, path string) error {
			made, err := lab.ServiceAccountKubeconfig(ctx, cfg, namespace, account, tokenLife, cfg.Host, cfg.CAData)
			if err != nil {
				return err
			}
			return made.Write(path)
		},
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return n.Stop()
}
