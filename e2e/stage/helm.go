package stage

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
)

// Install installs a chart of the repository, or upgrades the release, with the real Helm. It does not wait for pods:
// the lab has no nodes. The kinds that it brings are served when it returns.
func (s *Stage) Install(ctx context.Context, cluster *Cluster, chart, release, namespace string, values map[string]any) error {
	if err := s.install(ctx, cluster, chart, release, namespace, values); err != nil {
		return err
	}
	return awaitServed(ctx, cluster)
}

func (s *Stage) install(ctx context.Context, cluster *Cluster, chart, release, namespace string, values map[string]any) error {
	loaded, err := loader.Load(filepath.Join(s.Root, "charts", chart))
	if err != nil {
		return fmt.Errorf("chart %s: %w", chart, err)
	}
	cfg, err := helmConfig(cluster, namespace)
	if err != nil {
		return fmt.Errorf("chart %s: %w", chart, err)
	}
	if _, err := cfg.Releases.Last(release); errors.Is(err, driver.ErrReleaseNotFound) {
		install := action.NewInstall(cfg)
		install.ReleaseName, install.Namespace, install.CreateNamespace = release, namespace, true
		if _, err := install.RunWithContext(ctx, loaded, values); err != nil {
			return fmt.Errorf("installing chart %s on %s: %w", chart, cluster.Name, err)
		}
		return nil
	}
	upgrade := action.NewUpgrade(cfg)
	upgrade.Namespace, upgrade.ResetValues = namespace, true
	if _, err := upgrade.RunWithContext(ctx, release, loaded, values); err != nil {
		return fmt.Errorf("upgrading chart %s on %s: %w", chart, cluster.Name, err)
	}
	return nil
}

func helmConfig(cluster *Cluster, namespace string) (*action.Configuration, error) {
	flags := genericclioptions.NewConfigFlags(false)
	kubeconfig := cluster.Kubeconfig()
	flags.KubeConfig, flags.Namespace = &kubeconfig, &namespace
	flags.WrapConfigFn = func(c *rest.Config) *rest.Config { c.QPS = -1; return c }
	cfg := &action.Configuration{}
	if err := cfg.Init(flags, namespace, "secret", func(string, ...any) {}); err != nil {
		return nil, fmt.Errorf("Helm on %s: %w", cluster.Name, err)
	}
	return cfg, nil
}

// InstallHub installs the charts fleet-crd and fleet, as the README says, with values laid over those that the lab needs.
func (s *Stage) InstallHub(ctx context.Context, values map[string]any) error {
	if err := s.Install(ctx, s.Hub, "fleet-crd", "fleet-crd", SystemNamespace, nil); err != nil {
		return err
	}
	all := map[string]any{
		"apiServerURL": s.HubURL,
		"apiServerCA":  string(s.HubCA),
		"agentTLSMode": "strict",
		"bootstrap":    map[string]any{"agentNamespace": LocalAgentNamespace},
	}
	for key, value := range values {
		all[key] = value
	}
	return s.Install(ctx, s.Hub, "fleet", "fleet", SystemNamespace, all)
}
