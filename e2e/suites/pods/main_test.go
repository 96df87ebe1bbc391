// Package pods_test installs Fleet as its users do: charts with the helm command, hub and agents as Pods of images, on
// clusters with nodes that a provider (e2e/provider) makes. scripts/e2e builds what it needs and runs it.
//
// The tests share three clusters. The first of them installs everything; each of the others leaves the hub as it found it.
package pods_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/rancher/fleet/e2e/provider"
)

const (
	// patience bounds a wait; it is many times what is expected on a quiet machine.
	patience = 5 * time.Minute
	// optionalVariable leaves the suite out, with the reason, where the machine lacks what the provider needs.
	optionalVariable = "FLEET_E2E_OPTIONAL"
	// filesVariable is the folder with the images, and the helm command, that scripts/e2e has made.
	filesVariable = "FLEET_E2E_FILES"
	// The two versions of the product that there are images of.
	oldVersion, newVersion = "v0.1.0-e2e", "v0.2.0-e2e"
	// workloadImage runs until it is told to end.
	workloadImage = "fleet-lab/pause:1"
)

// files are those that scripts/e2e has made.
func file(name string) string { return filepath.Join(os.Getenv(filesVariable), name) }

// chosen is the provider of this run, made what it has made.
var (
	chosen provider.Provider
	made   = map[string]provider.Cluster{}
)

// nodes are how many each cluster has. On the hub an agent has another place to go to.
var nodes = map[string]int{hubName: 2, edgeName: 1, remoteName: 1}

func TestMain(m *testing.M) {
	if err := prepare(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	environment := env.New()
	environment.Setup(createAll)
	environment.Finish(destroyAll)
	code := environment.Run(m)
	if leftBehind != nil { // the framework only logs it
		code = max(code, 1)
	}
	os.Exit(code)
}

func prepare() error {
	var err error
	if chosen, err = provider.Chosen(); err != nil {
		return err
	}
	if err := chosen.Missing(context.Background()); err != nil {
		if os.Getenv(optionalVariable) != "" {
			fmt.Printf("reduced: hub and agents do not run as Pods: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
			os.Exit(0)
		}
		return err
	}
	if os.Getenv(filesVariable) == "" {
		return fmt.Errorf("there are no images to test with: run scripts/e2e --provider %s", chosen.Name())
	}
	for name, count := range nodes {
		made[name] = chosen.Cluster(name, count)
	}
	return nil
}

// createAll makes all clusters at once, with the images loaded.
func createAll(ctx context.Context, _ *envconf.Config) (context.Context, error) {
	if err := chosen.Prepare(ctx); err != nil {
		return ctx, err
	}
	var all sync.WaitGroup
	failed := make(chan error, len(made))
	for name, cluster := range made {
		all.Go(func() { failed <- create(ctx, name, cluster) })
	}
	all.Wait()
	for range made {
		if err := <-failed; err != nil {
			return ctx, err
		}
	}
	return ctx, nil
}

func create(ctx context.Context, name string, cluster provider.Cluster) error {
	if _, err := cluster.Create(ctx); err != nil {
		return fmt.Errorf("cluster %s: %w", name, err)
	}
	for _, image := range []string{oldVersion + ".tar", newVersion + ".tar", "1.tar"} {
		if err := cluster.LoadImageArchive(ctx, file(image)); err != nil {
			return fmt.Errorf("cluster %s: %w", name, err)
		}
	}
	return nil
}

// leftBehind is why a cluster could not be taken away.
var leftBehind error

// destroyAll ends every cluster, also after another could not be ended.
func destroyAll(ctx context.Context, _ *envconf.Config) (context.Context, error) {
	for name, cluster := range made {
		if err := cluster.Destroy(ctx); err != nil {
			leftBehind = fmt.Errorf("cluster %s: %w", name, err)
			fmt.Fprintln(os.Stderr, leftBehind)
		}
	}
	return ctx, leftBehind
}
