package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rancher/fleet/e2e/proc"
)

// The components, by the names of their processes and logs.
const (
	etcd              = "etcd"
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	podRunner         = "pods"
	kubelet           = "kubelet" // in a node, by no process of ours
)

// endOrder: Pods end while there is an API server, an API server without etcd hangs on SIGTERM, a controller manager
// without API server logs errors.
func (s state) endOrder() []string {
	var order []string
	for number := range s.Nodes {
		order = append(order, nodeName(number+1))
	}
	return append(order, podRunner, scheduler, controllerManager, apiServer, etcd)
}

func (c *ControlPlane) startAll(ctx context.Context, manager bool) error {
	if c.state.Detached {
		defer c.slot.release() // from then on etcd and the nodes alone hold it
	}
	if err := c.startEtcd(ctx); err != nil {
		return err
	}
	if c.state.Nodes > 0 {
		if err := c.slot.makeNetwork(ctx, c.state.Nodes); err != nil {
			return fmt.Errorf("control plane %s: %w", c.Name, err)
		}
	}
	if err := c.startAPIServer(ctx); err != nil {
		return err
	}
	if !manager {
		return nil
	}
	if err := c.startControllerManager(ctx); err != nil {
		return err
	}
	if err := c.startPodRunner(ctx); err != nil {
		return err
	}
	return c.startNodes(ctx)
}

func (c *ControlPlane) startEtcd(ctx context.Context) error {
	client, peer := "http://"+address(c.slot.port(portEtcd)), "http://"+address(c.slot.port(portEtcdPeer))
	spec := proc.Spec{Name: etcd, Path: c.state.Binaries.Etcd, Args: []string{
		"--name=lab",
		"--data-dir=" + c.path(folderEtcd),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=lab=" + peer,
		"--unsafe-no-fsync", // nothing here has to survive a power cut
		"--log-level=warn",
	}}
	spec.Files = c.slot.files()
	if err := c.start(ctx, spec); err != nil {
		return err
	}
	return c.await(ctx, etcd, "answers /health", etcdHealthy(client))
}

func (c *ControlPlane) startAPIServer(ctx context.Context) error {
	args := []string{
		apiServer,
		"--etcd-servers=http://" + address(c.slot.port(portEtcd)),
		"--advertise-address=127.0.0.1",
		// A loopback address is refused in an EndpointSlice; without this the server complains all the time.
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=" + c.slot.serviceRange(),
		"--cert-dir=" + c.path(folderCerts),
		"--tls-cert-file=" + c.path(fileServing+pairCert),
		"--tls-private-key-file=" + c.path(fileServing+pairKey),
		"--client-ca-file=" + c.path(fileClientCA+pairCert),
		"--token-auth-file=" + c.path(fileTokens),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + c.path(fileServiceAccountKey+pairPublicKey),
		"--service-account-signing-key-file=" + c.path(fileServiceAccountKey+pairKey),
		"--authorization-mode=Node,RBAC",
		"--allow-privileged",
		"--max-requests-inflight=1200",
		"--max-mutating-requests-inflight=600",
	}
	args = append(args, c.listenArgs()...)
	if c.state.Audit {
		args = append(args, "--audit-log-path="+c.path(fileAuditLog), "--audit-policy-file="+c.path(fileAuditPolicy),
			"--audit-log-maxsize=100000") // megabytes; one file, the counts are of the whole run
	}
	spec := proc.Spec{Name: apiServer, Path: c.state.Binaries.Kube, Args: append(args, c.state.APIServerArgs...)}
	if err := c.start(ctx, spec); err != nil {
		return err
	}
	return c.await(ctx, apiServer, "answers /readyz and has the default namespace", c.serverReady())
}

// listenArgs say where the API server listens and, with nodes, how it speaks to kubelets.
func (c *ControlPlane) listenArgs() []string {
	if c.state.Nodes == 0 {
		return []string{"--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(c.slot.port(portAPIServer))}
	}
	return []string{
		"--bind-address=" + c.slot.serviceAddress(),
		"--secure-port=" + strconv.Itoa(kubernetesServicePort),
		"--enable-admission-plugins=NodeRestriction",
		"--kubelet-client-certificate=" + c.path(fileKubeletClient+pairCert),
		"--kubelet-client-key=" + c.path(fileKubeletClient+pairKey),
		"--kubelet-preferred-address-types=InternalIP", // their names do not resolve
	}
}

func (c *ControlPlane) startControllerManager(ctx context.Context) error {
	args := []string{
		controllerManager,
		"--kubeconfig=" + c.path(fileInternal),
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(c.slot.port(portControllerManager)),
		"--cert-dir=" + c.path(folderCerts),
		"--tls-cert-file=" + c.path(fileServing+pairCert),
		"--tls-private-key-file=" + c.path(fileServing+pairKey),
		"--root-ca-file=" + c.path(fileServingCA+pairCert),
		"--service-account-private-key-file=" + c.path(fileServiceAccountKey+pairKey),
		"--cluster-signing-cert-file=" + c.path(fileClientCA+pairCert),
		"--cluster-signing-key-file=" + c.path(fileClientCA+pairKey),
		"--service-cluster-ip-range=" + c.slot.serviceRange(),
		"--leader-elect=false",
		"--kube-api-qps=200",
		"--kube-api-burst=400",
	}
	if c.state.Nodes > 0 {
		args = append(args, "--node-monitor-grace-period="+nodeGrace, "--node-monitor-period="+nodeMonitor)
	}
	spec := proc.Spec{Name: controllerManager, Path: c.state.Binaries.Kube, Args: append(args, c.state.ControllerManagerArgs...)}
	if err := c.start(ctx, spec); err != nil {
		return err
	}
	return c.await(ctx, controllerManager, "is healthy and has made the default service account", c.managerReady())
}

func (c *ControlPlane) startScheduler(ctx context.Context) error {
	spec := proc.Spec{Name: scheduler, Path: c.state.Binaries.Kube, Args: []string{
		scheduler,
		"--kubeconfig=" + c.path(fileInternal),
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(c.slot.port(portScheduler)),
		"--cert-dir=" + c.path(folderCerts),
		"--tls-cert-file=" + c.path(fileServing+pairCert),
		"--tls-private-key-file=" + c.path(fileServing+pairKey),
		"--leader-elect=false",
		"--kube-api-qps=200",
		"--kube-api-burst=400",
	}}
	if err := c.start(ctx, spec); err != nil {
		return err
	}
	return c.await(ctx, scheduler, "is healthy", c.healthz(portScheduler))
}

// startPodRunner starts what looks after Pods, if there is such a program.
func (c *ControlPlane) startPodRunner(ctx context.Context) error {
	if len(c.state.Pods) == 0 {
		return nil
	}
	spec := proc.Spec{Name: podRunner, Path: c.state.Pods[0], Args: append(slices.Clone(c.state.Pods[1:]), c.Dir, c.Kubeconfig())}
	if err := c.start(ctx, spec); err != nil {
		return err
	}
	return c.await(ctx, podRunner, "has made a Node that is Ready", c.nodeReady(""))
}

// start runs a component and records it before anything can go wrong with it.
func (c *ControlPlane) start(ctx context.Context, spec proc.Spec) error {
	if c.runs(spec.Name) {
		return fmt.Errorf("%s of %s runs already", spec.Name, c.Name)
	}
	spec.Log, spec.Detached = c.Log(spec.Name), c.state.Detached
	p, err := proc.Start(context.WithoutCancel(ctx), spec)
	if err != nil {
		return fmt.Errorf("control plane %s: %w", c.Name, err)
	}
	c.processes[spec.Name] = p
	c.state.Processes[spec.Name] = p.Identity()
	return c.state.write(c.Dir)
}

func (c *ControlPlane) runs(component string) bool {
	return c.state.Processes[component].Running(c.Dir)
}

// end stops a component. One that does not run is no error.
func (c *ControlPlane) end(ctx context.Context, component string) error {
	var err error
	if p := c.processes[component]; p != nil {
		_, err = p.Stop(graceOf(component))
	} else {
		err = c.state.Processes[component].End(ctx, c.Dir, graceOf(component))
	}
	if errors.Is(err, proc.ErrKilled) && (component == apiServer || strings.HasPrefix(component, nodePrefix)) {
		err = nil // an API server keeps no state, and a node takes all that is in it with it
	}
	if err != nil {
		return fmt.Errorf("control plane %s: %w", c.Name, err)
	}
	delete(c.processes, component)
	delete(c.state.Processes, component)
	return c.state.write(c.Dir)
}

// graceOf is how long a component may take to end. An API server waits a minute for open watches, which is of no use here:
// it keeps no state, so it may be killed early.
func graceOf(component string) time.Duration {
	switch component {
	case apiServer:
		return 3 * time.Second
	case podRunner:
		return 45 * time.Second // it ends its Pods' processes before
	default:
		return 15 * time.Second // also for a node, which takes 8 seconds for its kubelet and its Pods at most
	}
}

// endProcesses ends what is left of a control plane by its record alone.
func endProcesses(ctx context.Context, dir string, s state) error {
	var problems []error
	for _, component := range s.endOrder() {
		if err := s.Processes[component].End(ctx, dir, graceOf(component)); err != nil {
			problems = append(problems, fmt.Errorf("%s of %s: %w", component, s.Name, err))
		}
	}
	return errors.Join(append(problems, clearNodes(ctx, s, nil))...)
}
