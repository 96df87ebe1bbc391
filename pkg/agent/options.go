package agent

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"

	"github.com/rancher/fleet/pkg/agent/register"
	"github.com/rancher/fleet/pkg/kube"
)

// Options say who the agent is, where it works and how often it speaks.
type Options struct {
	// Kubeconfig and Context lead to the agent's own cluster; empty means the cluster that it runs in.
	Kubeconfig, Context string
	// Namespace is the agent's own.
	Namespace string
	// Scope tells several agents in one cluster apart.
	Scope string
	// CheckinInterval is that of status.agent, HeartbeatInterval that of the Lease. Zero means the default.
	CheckinInterval, HeartbeatInterval time.Duration
	// Workers is how many bundles are handled at once. Zero means the default.
	Workers int

	// LeaderElect may be off where it is certain that there is one process.
	LeaderElect bool
	// Election gives the durations; the rest of it is filled in.
	Election kube.Election

	// PodName and Hostname are the pod's, as far as there is one. Generation is the pod template's GENERATION.
	PodName, Hostname, Generation string
	Version                       string

	// MetricsAddr and HealthAddr are where to listen; empty or "0" means nowhere.
	MetricsAddr, HealthAddr string

	// ReadyDir is where this pod says that it is ready; empty where nobody asks.
	ReadyDir string

	// Clock and Pace are for tests; their zero values are what production uses.
	Clock clock.WithTicker
	Pace  register.Pace
}

// Validate names the options that cannot be.
func (o Options) Validate() error {
	var errs []error
	switch problems := validation.IsDNS1123Label(o.Namespace); {
	case o.Namespace == "":
		errs = append(errs, errors.New("the agent's namespace is not set: give --namespace, or NAMESPACE in the environment"))
	case len(problems) > 0:
		errs = append(errs, fmt.Errorf("namespace %q: %s", o.Namespace, problems[0]))
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"CHECKIN_INTERVAL", o.CheckinInterval},
		{"HEARTBEAT_INTERVAL", o.HeartbeatInterval},
	} {
		if d.value < 0 {
			errs = append(errs, fmt.Errorf("%s is %s: it must not be negative", d.name, d.value))
		}
	}
	return errors.Join(errs...)
}
