// Package helm_test deploys bundles to a real API server with the deployer of the agent: what an API server in memory cannot
// show. Definitions are served a moment after they are made, rights are checked, built-in kinds have defaults, merge keys and
// fields that cannot be changed. There is one control plane, without nodes: no Pod ever runs.
package helm_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/content"
	"github.com/rancher/fleet/pkg/helmdeployer"
)

const (
	// patience bounds a wait; it is several times what is expected on an idle machine.
	patience       = 2 * time.Minute
	agentNamespace = "cattle-fleet-system"
)

func TestMain(m *testing.M) { os.Exit(lab.Main(m)) }

// bed is a namespace of a test's own on the cluster, and an agent.
type bed struct {
	*stage.Cluster
	*helmdeployer.Deployer
	t         *testing.T
	namespace string
}

func newBed(t *testing.T) *bed {
	t.Helper()
	cluster, err := stage.Attach(lab.Shared(t, "target"))
	require.NoError(t, err)
	b := &bed{Cluster: cluster, t: t}
	b.namespace = "t" + strings.ToLower(strings.NewReplacer("/", "-", "_", "-", "=", "-").Replace(strings.TrimPrefix(t.Name(), "Test")))
	b.namespace = strings.TrimRight(b.namespace[:min(len(b.namespace), 50)], "-")
	b.ensure(agentNamespace)
	b.Deployer = b.agent(cluster.Config)
	return b
}

// agent is a new one, with the given way to the cluster.
func (b *bed) agent(cfg *rest.Config) *helmdeployer.Deployer {
	b.t.Helper()
	d, err := helmdeployer.New(helmdeployer.Config{REST: cfg, Namespace: agentNamespace, Now: time.Now})
	require.NoError(b.t, err)
	return d
}

func (b *bed) ctx() context.Context { return stage.Until(b.t, patience) }

func (b *bed) ensure(namespace string) {
	b.t.Helper()
	_, err := b.Kube.CoreV1().Namespaces().Get(b.ctx(), namespace, metav1.GetOptions{})
	if err != nil {
		_, err = b.Kube.CoreV1().Namespaces().Create(b.ctx(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	}
	require.NoError(b.t, err)
}

// bundle has plain manifests, and the test's namespace.
func (b *bed) bundle(name string, manifests ...string) helmdeployer.Job {
	job := helmdeployer.Job{Name: name, ManifestID: "s-1", Options: fleet.BundleDeploymentOptions{DefaultNamespace: b.namespace}}
	for i, manifest := range manifests {
		job.Files = append(job.Files, file(fmt.Sprintf("m%d.yaml", i), manifest))
	}
	return job
}

// owner is the owner of what bundle makes.
func (b *bed) owner(name string) helmdeployer.Owner {
	return helmdeployer.OwnerOf(name, b.bundle(name).Options, false)
}

func file(name, text string) content.File { return content.File{Name: name, Data: []byte(text)} }

func (b *bed) deploy(job helmdeployer.Job) helmdeployer.Release {
	b.t.Helper()
	got, err := b.Deploy(b.ctx(), job)
	require.NoError(b.t, err)
	return got
}

func configMap(name, value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata:\n  key: " + value + "\n"
}

// value is that of a ConfigMap made by configMap; empty if there is none.
func (b *bed) value(name string) string {
	b.t.Helper()
	found, err := b.Kube.CoreV1().ConfigMaps(b.namespace).Get(b.ctx(), name, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	return found.Data["key"]
}
