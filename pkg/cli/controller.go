package cli

import (
	"os"
	"strconv"

	"github.com/sirupsen/logrus"
	"github.com/urfave/cli/v2"

	"github.com/rancher/fleet/pkg/agentmanifest"
	"github.com/rancher/fleet/pkg/controllers"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/version"
)

// Environment of the controller, set by the chart.
const (
	envNamespace           = "NAMESPACE"
	envPodName             = "POD_NAME"
	envTTLRequired         = "FLEET_REGISTRATION_TOKEN_TTL_REQUIRED"
	envPropagateDebug      = "FLEET_PROPAGATE_DEBUG_SETTINGS_TO_AGENTS"
	envNoSecurityContext   = "FLEET_DEBUG_DISABLE_SECURITY_CONTEXT"
	envAgentReplicas       = "FLEET_AGENT_REPLICA_COUNT"
	envAgentLeaseDuration  = "FLEET_AGENT_ELECTION_LEASE_DURATION"
	envAgentRenewDeadline  = "FLEET_AGENT_ELECTION_RENEW_DEADLINE"
	envAgentRetryPeriod    = "FLEET_AGENT_ELECTION_RETRY_PERIOD"
	envAgentGVKErrorMap    = agentmanifest.EnvGVKErrorMapping
	defaultMetricsAddress  = ":8080"
	defaultHealthAddress   = ":8081"
	flagMetricsBindAddress = "metrics-bind-address"
	flagHealthBindAddress  = "health-bind-address"
)

// endpointFlags are those of both roles. An address that is taken is bound later, not a failure.
func endpointFlags(metricsEnv, healthEnv string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: flagMetricsBindAddress, EnvVars: []string{metricsEnv}, Value: defaultMetricsAddress, DefaultText: offOutside(defaultMetricsAddress), Usage: "where to serve /metrics; 0 turns it off"},
		&cli.StringFlag{Name: flagHealthBindAddress, EnvVars: []string{healthEnv}, Value: defaultHealthAddress, DefaultText: offOutside(defaultHealthAddress), Usage: "where to serve /healthz and /readyz; 0 turns it off"},
		&cli.BoolFlag{Name: "disable-metrics", Usage: "serve no metrics"},
	}
}

func offOutside(address string) string { return address + "; with --kubeconfig nowhere" }

// metricsAddress and healthAddress are where to serve. A process that was pointed at a cluster from outside serves nothing
// unless it is told to: there may be several on one machine, and it has an address that others can reach.
func metricsAddress(c *cli.Context) string {
	if c.Bool("disable-metrics") {
		return "0"
	}
	return address(c, flagMetricsBindAddress)
}

func healthAddress(c *cli.Context) string { return address(c, flagHealthBindAddress) }

func address(c *cli.Context, flag string) string {
	if c.String("kubeconfig") != "" && !c.IsSet(flag) {
		return "0"
	}
	return c.String(flag)
}

// connectionFlags say which cluster a role works with.
func connectionFlags(namespace string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "kubeconfig", Usage: "kubeconfig to use; without it the account of the pod"},
		&cli.StringFlag{Name: "context", Usage: "context of the kubeconfig; without it the current one"},
		&cli.StringFlag{Name: "namespace", EnvVars: []string{envNamespace}, Usage: namespace},
	}
}

func controllerCommand() *cli.Command {
	flags := connectionFlags("namespace of the controller and its configuration")
	flags = append(flags, &cli.BoolFlag{Name: "disable-bootstrap", Usage: "do not register the hub itself"})
	flags = append(flags, checkFlag("the hub of this namespace works"))
	flags = append(flags, endpointFlags("FLEET_METRICS_BIND_ADDRESS", "FLEET_HEALTH_BIND_ADDRESS")...)
	return &cli.Command{
		Name:   "controller",
		Usage:  "run the hub",
		Flags:  append(flags, debugFlags()...),
		Action: runController,
	}
}

func runController(c *cli.Context) error {
	setDebug(c)
	namespace := c.String("namespace")
	if namespace == "" {
		return usagef("the controller needs --namespace or the variable %s", envNamespace)
	}
	if c.Bool(flagCheck) {
		return checkRole(c, namespace, names.ControllerDeployment, hubWorks)
	}
	settings := agentSettings(c, namespace)
	election, err := kube.ElectionFromEnv(os.Getenv)
	if err != nil {
		return &usage{err}
	}
	election.Namespace, election.Name = namespace, names.ControllerLease
	election.Identity = kube.Identity(os.Getenv(envPodName))
	cfg, err := kube.RESTConfig(c.String("kubeconfig"), c.String("context"), "fleet-controller/"+version.Version)
	if err != nil {
		return err
	}
	return controllers.Run(c.Context, controllers.Options{
		Config: cfg, Names: names.NamespacesOf(namespace), Election: election,
		Version: version.Version, Settings: settings,
		DisableBootstrap: c.Bool("disable-bootstrap"), TTLRequired: envBool(envTTLRequired), Workers: kindWorkers(os.Getenv),
		MetricsAddress: metricsAddress(c), HealthAddress: healthAddress(c),
	})
}

func envBool(name string) bool {
	value, err := strconv.ParseBool(os.Getenv(name))
	return err == nil && value
}

// agentSettings are those of all agents that come from the controller's environment.
func agentSettings(c *cli.Context, namespace string) agentmanifest.Settings {
	return agentmanifest.Settings{
		SystemNamespace: namespace, Replicas: agentReplicas(os.Getenv(envAgentReplicas)),
		LeaseDuration: os.Getenv(envAgentLeaseDuration), RenewDeadline: os.Getenv(envAgentRenewDeadline), RetryPeriod: os.Getenv(envAgentRetryPeriod),
		GVKErrorMapping: os.Getenv(envAgentGVKErrorMap),
		PropagateDebug:  envBool(envPropagateDebug), Debug: c.Bool("debug"), DebugLevel: c.Int("debug-level"),
		DisableSecurityContext: envBool(envNoSecurityContext),
	}
}

// agentReplicas is one where nothing that can be was asked for. Without an agent no cluster could register, and a hub that
// does not start because of it would leave all others alone as well.
func agentReplicas(text string) int32 {
	if text == "" {
		return 1
	}
	replicas, err := strconv.ParseInt(text, 10, 32)
	if err != nil || replicas < 1 {
		logrus.Warnf("%s (agent.replicas of the chart) is %.32q: it must be a number from 1; agents get 1 replica", envAgentReplicas, text)
		return 1
	}
	return int32(replicas)
}
