package cli

import (
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/rancher/fleet/pkg/agent"
	"github.com/rancher/fleet/pkg/agent/ready"
	"github.com/rancher/fleet/pkg/agentmanifest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/version"
)

const envHostname = "HOSTNAME"

func agentCommand() *cli.Command {
	flags := connectionFlags("namespace of the agent and its secrets")
	flags = append(flags,
		&cli.StringFlag{Name: "agent-scope", EnvVars: []string{agentmanifest.EnvScope}, Usage: "tells agents of several hubs in one cluster apart"},
		&cli.StringFlag{Name: "checkin-interval", EnvVars: []string{agentmanifest.EnvCheckinInterval}, Usage: "how often to report in the Cluster's status; 0 means 15m"},
		&cli.StringFlag{Name: "heartbeat-interval", EnvVars: []string{agentmanifest.EnvHeartbeatInterval}, Usage: "how often to renew the heartbeat's Lease; 0 means 60s"},
		&cli.BoolFlag{Name: "leader-elect", Value: true, Usage: "work only while leading"},
		&cli.BoolFlag{Name: "ready", Usage: "only say whether the agent of this pod is ready to take over, as its readiness probe does"},
		checkFlag("the agent of this namespace is registered and one of its pods leads"),
	)
	flags = append(flags, endpointFlags("FLEET_AGENT_METRICS_BIND_ADDRESS", "FLEET_AGENT_PROBE_BIND_ADDRESS")...)
	return &cli.Command{
		Name:   "agent",
		Usage:  "run the agent of a downstream cluster",
		Flags:  append(flags, debugFlags()...),
		Action: runAgent,
	}
}

func runAgent(c *cli.Context) error {
	if c.Bool("ready") {
		return ready.At(os.TempDir()).Check()
	}
	setDebug(c)
	namespace := c.String("namespace")
	if namespace == "" {
		return usagef("the agent needs --namespace or the variable %s", agentmanifest.EnvNamespace)
	}
	if c.Bool(flagCheck) {
		return checkRole(c, namespace, names.AgentDeployment, agentWorks)
	}
	checkin, err := interval(c, "checkin-interval", config.DefaultCheckinInterval)
	if err != nil {
		return err
	}
	heartbeat, err := interval(c, "heartbeat-interval", config.DefaultHeartbeatInterval)
	if err != nil {
		return err
	}
	election, err := kube.ElectionFromEnv(os.Getenv)
	if err != nil {
		return &usage{err}
	}
	election.Namespace, election.Name = namespace, names.AgentElectionLease
	election.Identity = kube.Identity(os.Getenv(envPodName))
	return agent.Run(c.Context, agent.Options{
		Kubeconfig: c.String("kubeconfig"), Context: c.String("context"),
		Namespace: namespace, Scope: c.String("agent-scope"),
		CheckinInterval: checkin, HeartbeatInterval: heartbeat,
		Workers:     kindWorkers(os.Getenv)[fleet.SchemeGroupVersion.WithKind("BundleDeployment")],
		LeaderElect: c.Bool("leader-elect"), Election: election,
		PodName: os.Getenv(envPodName), Hostname: os.Getenv(envHostname),
		Generation: os.Getenv(agentmanifest.EnvGeneration), Version: version.Version,
		MetricsAddr: metricsAddress(c), HealthAddr: healthAddress(c), ReadyDir: readyDir(os.Getenv),
	})
}

// readyDir is where a pod's probe looks. A plain process has none, and shares the directory with others.
func readyDir(getenv func(string) string) string {
	if getenv(envPodName) == "" {
		return ""
	}
	return os.TempDir()
}

// interval reads a duration of which zero and nothing mean the default.
func interval(c *cli.Context, flag string, standard time.Duration) (time.Duration, error) {
	text := c.String(flag)
	if text == "" || text == "0" {
		return standard, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, usagef("--%s is %q: it must be a duration such as 60s or 15m", flag, text)
	}
	if d == 0 {
		return standard, nil
	}
	return d, nil
}
