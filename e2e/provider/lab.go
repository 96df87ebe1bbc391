package provider

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/e2e-framework/klient"
	"sigs.k8s.io/e2e-framework/support"

	"github.com/rancher/fleet/e2e/lab"
)

const (
	labName = "lab"
	// startedBy tells the clusters of a run from those of a person.
	startedBy = "scripts/e2e"
)

type labProvider struct{}

func (labProvider) Name() string { return labName }

func (labProvider) Missing(context.Context) error { return lab.CheckNodes() }

// Prepare has nothing to do: what clusters share, each of them makes.
func (labProvider) Prepare(context.Context) error { return nil }

func (labProvider) Cluster(name string, nodes int) Cluster {
	return &labCluster{name: name, nodes: nodes}
}

// labCluster is a control plane of the lab with nodes. It ends with this process, if not before.
type labCluster struct {
	name, version string
	nodes         int
	plane         *lab.ControlPlane
	cfg           *rest.Config
}

func (c *labCluster) WithName(name string) support.E2EClusterProvider {
	c.name = name
	return c
}

// WithVersion picks a Kubernetes line, such as 1.36.
func (c *labCluster) WithVersion(version string) support.E2EClusterProvider {
	c.version = version
	return c
}

// WithPath changes nothing: the lab builds what it runs.
func (c *labCluster) WithPath(string) support.E2EClusterProvider { return c }

func (c *labCluster) WithOpts(opts ...support.ClusterOpts) support.E2EClusterProvider {
	for _, option := range opts {
		option(c)
	}
	return c
}

func (c *labCluster) SetDefaults() support.E2EClusterProvider { return c }

// Create starts the control plane and its nodes, and waits until they are Ready.
func (c *labCluster) Create(ctx context.Context, _ ...string) (string, error) {
	if err := c.clear(ctx); err != nil {
		return "", err
	}
	plane, err := lab.Up(ctx, lab.Options{Name: c.name, Version: c.version, Nodes: c.nodes, StartedBy: startedBy})
	if err != nil {
		return "", err
	}
	c.plane = plane
	if c.cfg, err = plane.RESTConfig(); err != nil {
		return "", err
	}
	return plane.Kubeconfig(), nil
}

// clear takes away what a run left that was killed: with its data, nothing would be installed for the first time.
func (c *labCluster) clear(ctx context.Context) error {
	root, err := lab.FindRoot()
	if err != nil {
		return err
	}
	state := filepath.Join(root, ".lab")
	found, ok, err := lab.Lookup(state, c.name)
	if err != nil || !ok {
		return err
	}
	if found.StartedBy != startedBy {
		return fmt.Errorf("control plane %s is there already, of %s: scripts/lab down %s", c.name, found.StartedBy, c.name)
	}
	return lab.Down(ctx, state, c.name)
}

func (c *labCluster) CreateWithConfig(ctx context.Context, configFile string) (string, error) {
	if configFile != "" {
		return "", fmt.Errorf("cluster %s: the lab reads no configuration file (%s)", c.name, configFile)
	}
	return c.Create(ctx)
}

func (c *labCluster) GetKubeconfig() string {
	if c.plane == nil {
		return ""
	}
	return c.plane.Kubeconfig()
}

func (c *labCluster) GenerateKubeconfig(...string) (string, error) { return c.GetKubeconfig(), nil }

func (c *labCluster) GetKubectlContext() string { return c.name }

func (c *labCluster) KubernetesRestConfig() *rest.Config { return c.cfg }

// WaitForControlPlane has nothing to wait for after Create.
func (c *labCluster) WaitForControlPlane(context.Context, klient.Client) error { return nil }

// LoadImage takes the file of an archive: the lab has no store of images by name.
func (c *labCluster) LoadImage(ctx context.Context, image string, args ...string) error {
	return c.LoadImageArchive(ctx, image, args...)
}

func (c *labCluster) LoadImageArchive(ctx context.Context, archivePath string, _ ...string) error {
	return c.plane.LoadImages(ctx, archivePath)
}

// PullPlainly lets nodes pull from a registry, host:port, without TLS.
func (c *labCluster) PullPlainly(registry string) error { return c.plane.PullPlainly(registry) }

// ExportLogs copies the logs of all components.
func (c *labCluster) ExportLogs(_ context.Context, dest string) error {
	if c.plane == nil {
		return nil
	}
	return os.CopyFS(filepath.Join(dest, c.name), os.DirFS(filepath.Join(c.plane.Dir, "logs")))
}

func (c *labCluster) Destroy(ctx context.Context) error {
	if c.plane == nil {
		return nil
	}
	return c.plane.Remove(ctx)
}

// Front is the one address of the API server: pods reach it where everybody does.
func (c *labCluster) Front(context.Context) (Front, error) {
	return Front{URL: c.plane.URL, CA: c.plane.CA()}, nil
}
