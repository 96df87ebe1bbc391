package provider

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/e2e-framework/support"
	"sigs.k8s.io/e2e-framework/third_party/k3d"
)

const (
	k3dName = "k3d"
	// k3dNetwork is the Docker network of all clusters: pods of one reach the servers of the others.
	k3dNetwork = "fleet-e2e"
	k3dPort    = "6443"
)

type k3dProvider struct{}

func (k3dProvider) Name() string { return k3dName }

// Missing looks for the two programs, and for the Docker engine itself.
func (k3dProvider) Missing(ctx context.Context) error {
	var missing []error
	for program, from := range map[string]string{"docker": "https://docs.docker.com/engine/install", "k3d": "https://k3d.io"} {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, fmt.Errorf("provider k3d needs %s, which is not in PATH: see %s", program, from))
		}
	}
	if len(missing) > 0 {
		return errors.Join(missing...)
	}
	if out, err := exec.CommandContext(ctx, "docker", "version", "--format", "{{.Server.Version}}").CombinedOutput(); err != nil {
		return fmt.Errorf("provider k3d needs a Docker engine that answers: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Prepare makes the network: clusters that are made at once would each make it. A cluster that a killed run has left is taken
// away when another of its name is made.
func (k3dProvider) Prepare(ctx context.Context) error {
	if exec.CommandContext(ctx, "docker", "network", "inspect", k3dNetwork).Run() == nil {
		return nil
	}
	if out, err := exec.CommandContext(ctx, "docker", "network", "create", k3dNetwork).CombinedOutput(); err != nil {
		return fmt.Errorf("network %s of Docker: %w: %s", k3dNetwork, err, strings.TrimSpace(string(out)))
	}
	return nil
}

func (k3dProvider) Cluster(name string, nodes int) Cluster {
	// What k3s brings along by default is of no use here, and takes memory.
	args := []string{
		"--network", k3dNetwork, "--wait", "--timeout", "5m", "--no-lb",
		"--k3s-arg", "--disable=traefik,servicelb,metrics-server,local-storage@server:*",
	}
	if nodes > 1 {
		args = append(args, "--agents", fmt.Sprint(nodes-1))
	}
	c := &k3dCluster{name: name, E2EClusterProviderWithImageLoader: k3d.NewCluster(name)}
	c.SetDefaults().WithOpts(k3d.WithArgs(args...))
	return c
}

type k3dCluster struct {
	support.E2EClusterProviderWithImageLoader
	name string
}

// Create makes it anew: one that a run has left which was killed is not as it was first.
func (c *k3dCluster) Create(ctx context.Context, args ...string) (string, error) {
	if err := c.Destroy(ctx); err != nil {
		return "", err
	}
	return c.E2EClusterProviderWithImageLoader.Create(ctx, args...)
}

// Front is the address of the server's container: k3s has it in its certificate.
func (c *k3dCluster) Front(ctx context.Context) (Front, error) {
	server := "k3d-" + c.name + "-server-0"
	format := fmt.Sprintf(`{{(index .NetworkSettings.Networks %q).IPAddress}}`, k3dNetwork)
	out, err := exec.CommandContext(ctx, "docker", "inspect", "--format", format, server).Output()
	address := strings.TrimSpace(string(out))
	if err != nil || address == "" {
		return Front{}, fmt.Errorf("address of container %s in network %s: %q, %w", server, k3dNetwork, address, err)
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", c.GetKubeconfig())
	if err != nil {
		return Front{}, fmt.Errorf("kubeconfig of %s: %w", c.name, err)
	}
	return Front{URL: "https://" + address + ":" + k3dPort, CA: cfg.CAData}, nil
}
