package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/version"
)

const (
	flagCheck = "check"
	// roleCheckLimit is longer than a Lease lives whose holder has crashed.
	roleCheckLimit = time.Minute
	roleCheckPause = time.Second
)

func checkFlag(what string) cli.Flag {
	return &cli.BoolFlag{Name: flagCheck, Usage: "only say whether " + what + ", within a minute, as helm test does"}
}

// role is an installed hub or agent, seen with its own account.
type role struct {
	objects   dynamic.Interface
	clients   kubernetes.Interface
	namespace string
}

// checkRole waits until look finds nothing wrong. It says what was wrong last.
func checkRole(c *cli.Context, namespace, agent string, look func(context.Context, role) error) error {
	cfg, err := kube.RESTConfig(c.String(flagKubeconfig), c.String(flagContext), agent+"/"+version.Version)
	if err != nil {
		return err
	}
	r := role{namespace: namespace}
	if r.objects, err = dynamic.NewForConfig(cfg); err != nil {
		return fmt.Errorf("clients: %w", err)
	}
	if r.clients, err = kubernetes.NewForConfig(cfg); err != nil {
		return fmt.Errorf("clients: %w", err)
	}
	return awaitRole(c.Context, r, roleCheckLimit, look)
}

func awaitRole(ctx context.Context, r role, limit time.Duration, look func(context.Context, role) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, roleCheckPause, limit, true, func(ctx context.Context) (bool, error) {
		if err := look(ctx, r); err != nil {
			if ctx.Err() == nil || last == nil { // else the end of the wait cut the look short, and it says nothing
				last = err
			}
			return false, nil
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("not working after %s: %w", limit, errors.Join(last, ctx.Err()))
	}
	return nil
}

// hubWorks says what is wrong with the hub of a namespace: its configuration, its leader, what it can read.
func hubWorks(ctx context.Context, r role) error {
	config, err := r.clients.CoreV1().ConfigMaps(r.namespace).Get(ctx, names.ControllerConfigMap, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	if config.Data[names.ConfigKey] == "" {
		return fmt.Errorf("ConfigMap %s/%s has no key %s: install the chart fleet again", r.namespace, config.Name, names.ConfigKey)
	}
	clusters := r.objects.Resource(fleet.SchemeGroupVersion.WithResource(kindCluster.resource))
	if _, err := clusters.List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
		return fmt.Errorf("listing clusters (the chart fleet-crd must be installed): %w", err)
	}
	return r.isLed(ctx, names.ControllerLease)
}

// agentWorks says what is wrong with the agent of a namespace: its registration, and its leader.
func agentWorks(ctx context.Context, r role) error {
	_, err := r.clients.CoreV1().Secrets(r.namespace).Get(ctx, names.AgentCredentialStore, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("the agent has no credential yet (Secret %s/%s): the hub has not granted its request; "+
			"its log and, on the hub, `fleet registration list` say why", r.namespace, names.AgentCredentialStore)
	}
	if err != nil {
		return fmt.Errorf("credential: %w", err)
	}
	return r.isLed(ctx, names.AgentElectionLease)
}

// isLed says that nobody leads, or nobody who is alive.
func (r role) isLed(ctx context.Context, name string) error {
	lease, err := r.clients.CoordinationV1().Leases(r.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("leader: %w", err)
	}
	return led(lease, time.Now())
}

func led(lease *coordinationv1.Lease, now time.Time) error {
	id := "Lease " + lease.Namespace + "/" + lease.Name
	spec := lease.Spec
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return fmt.Errorf("%s has no holder: no pod leads", id)
	}
	life := time.Duration(*spec.LeaseDurationSeconds) * time.Second
	if silent := now.Sub(spec.RenewTime.Time); silent > life {
		return fmt.Errorf("%s was renewed last %s ago by %.64q: it does not lead any more, and nobody else does", id, silent.Round(time.Second), *spec.HolderIdentity)
	}
	return nil
}
