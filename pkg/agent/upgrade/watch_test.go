package upgrade

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/rancher/fleet/pkg/agent/internal/apitest"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
)

// soon is several times what anything here takes.
const soon = 60 * time.Second

// What the agent's own cluster shows reaches the report, and what is to be taken back is.
func TestAnUpgradeIsWatched(t *testing.T) {
	const deployments, sets, pods = "apps/deployments", "apps/replicasets", "/pods"
	api := apitest.New(t)
	f := upgrading(pod("new", "two", crashed(1)))
	api.Put(deployments, f.deployment)
	for _, each := range f.sets {
		api.Put(sets, each)
	}
	for _, each := range f.pods {
		api.Put(pods, each)
	}
	cfg, err := kube.RESTConfig(api.Kubeconfig(t, "agent"), "", "fleet-agent/test")
	require.NoError(t, err)
	client, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	report := NewReport()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		Run(ctx, Config{Client: client, Namespace: namespace, Pod: "old", Report: report, Clock: clock.RealClock{}})
	}()
	defer func() { cancel(); <-done }()
	reported := func(reason string) {
		t.Helper()
		require.Eventually(t, func() bool { s := report.Status(); return s != nil && s.Reason == reason }, soon, 5*time.Millisecond)
	}
	reported("CrashLoop")
	api.Put(pods, pod("new", "two", crashed(3)))
	reported("TakenBack")
	var live appsv1.Deployment
	require.True(t, api.Get(deployments, namespace, names.AgentDeployment, &live))
	require.Equal(t, "g1", generationOf(live.Spec.Template))
}
