package preflight

import (
	"cmp"
	"context"
	"time"

	"k8s.io/client-go/rest"

	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
)

// StepLimit is how long a step of the way, or a call, may take.
const StepLimit = 10 * time.Second

// stepsOfACall bounds a call as a whole: it resolves, connects, passes a proxy, makes TLS and waits for the answer.
const stepsOfACall = 5

// Options say how to look. All of them may be left out.
type Options struct {
	// TLSMode replaces what the hub's configuration, or the values, say of agentTLSMode.
	TLSMode string
	// AgentNamespace is where the agent is, or is to be.
	AgentNamespace string
	// SystemNamespace is where the hub's controller is.
	SystemNamespace string
	// Other is the other side: the hub, where a kubeconfig is looked at, and the cluster that is to join, where values are.
	// It is a config from kube.UserConfig, which has its own user agent. Without it that side is left out.
	Other *rest.Config
	// UserAgent is how the servers' logs tell who came.
	UserAgent string
	// StepLimit is how long a step of the way, or a call, may take.
	StepLimit time.Duration
	// Now is this machine's clock.
	Now func() time.Time
}

func (o Options) complete() Options {
	o.SystemNamespace = cmp.Or(o.SystemNamespace, names.DefaultSystemNamespace)
	o.UserAgent = cmp.Or(o.UserAgent, "fleet")
	o.StepLimit = cmp.Or(o.StepLimit, StepLimit)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// defaultTLSMode is that of the charts fleet and fleet-agent.
const defaultTLSMode = kube.TLSSystemStore

// Run looks at everything that a document, a kubeconfig or the values of a token, needs in order to work.
func Run(ctx context.Context, document []byte, o Options) Report {
	o = o.complete()
	input, err := Recognize(document)
	switch {
	case err != nil:
		l := newLedger("")
		l.record(CheckInput, failure("this is neither a kubeconfig nor the values of a token: "+err.Error(),
			"Give the kubeconfig that is to go into the kubeconfig Secret, or the values.yaml of a ClusterRegistrationToken, or the Secret that holds one of them."))
		return l.report
	case input.Kind == KindKubeconfig:
		return checkKubeconfig(ctx, input, o)
	}
	return checkValues(ctx, input, o)
}

// Names of checks, in the order in which they are made.
const (
	CheckInput             = "input"
	CheckCA                = "ca"
	CheckClientCertificate = "client-certificate"
	CheckProxy             = "proxy"
	CheckDNS               = "dns"
	CheckConnect           = "connect"
	CheckTLS               = "tls"
	CheckAnswer            = "answer"
	CheckClock             = "clock"
	CheckToken             = "token"
	CheckAuthentication    = "authentication"
	CheckHub               = "hub"
	CheckPermissions       = "permissions"
	CheckVersion           = "version"
	CheckAgent             = "agent"
	CheckHubAddress        = "hub-address"

	CheckCluster               = "cluster"
	CheckClusterAnswer         = "cluster.answer"
	CheckClusterAuthentication = "cluster.authentication"
	CheckClusterNamespace      = "cluster.namespace"
	CheckClusterPermissions    = "cluster.permissions"
	CheckClusterVersion        = "cluster.version"
	CheckClusterAgent          = "cluster.agent"
	CheckClusterObjects        = "cluster.objects"
)
