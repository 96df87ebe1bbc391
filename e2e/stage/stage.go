package stage

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/node"
	"github.com/rancher/fleet/e2e/proc"
)

// Namespaces that the stage uses, as an installation by the README has them.
const (
	SystemNamespace       = "cattle-fleet-system"
	RegistrationNamespace = "cattle-fleet-clusters-system"
	AgentsNamespace       = "cattle-fleet-agents-system"
	LocalAgentNamespace   = "cattle-fleet-local-system"
	LocalWorkspace        = "fleet-local"
	Workspace             = "fleet-default"
)

// controllerDeployment is the hub's Deployment.
const controllerDeployment = "fleet-controller"

// accountLife is how long the tokens live that the stage gives its processes.
const accountLife = 24 * time.Hour

// Cluster is a control plane with clients that may do everything.
type Cluster struct {
	*lab.ControlPlane
	Config  *rest.Config
	Kube    kubernetes.Interface
	Dynamic dynamic.Interface
	// Front is where the hub and the cluster's own agent reach it; the API server itself where it is nil.
	Front *Front
}

// Front is an address that stands before an API server, such as a shim's.
type Front struct {
	URL string
	CA  []byte
}

// front is how others reach the cluster.
func (c *Cluster) front() Front {
	if c.Front != nil {
		return *c.Front
	}
	return Front{URL: c.URL, CA: c.CA()}
}

// Attach makes clients for a control plane.
func Attach(plane *lab.ControlPlane) (*Cluster, error) {
	cfg, err := plane.RESTConfig()
	if err != nil {
		return nil, err
	}
	return reach(plane, cfg)
}

// Reach makes clients for a cluster that somebody else runs. What needs the lab's control plane does not work with it.
func Reach(name string, cfg *rest.Config) (*Cluster, error) {
	return reach(&lab.ControlPlane{Name: name}, rest.CopyConfig(cfg))
}

func reach(plane *lab.ControlPlane, cfg *rest.Config) (*Cluster, error) {
	cfg.QPS = -1
	cfg.UserAgent = "stage"
	kube, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("clients of %s: %w", plane.Name, err)
	}
	objects, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("clients of %s: %w", plane.Name, err)
	}
	return &Cluster{ControlPlane: plane, Config: cfg, Kube: kube, Dynamic: objects}, nil
}

// Stage is a hub, what runs on it, and the agents of its clusters.
type Stage struct {
	// Root of the repository.
	Root string
	Hub  *Cluster
	// Env is added to the environment of all processes, for example to speed the election up.
	Env []string
	// HubURL and HubCA are how agents and controller reach the hub: a shim's, or the API server's own.
	HubURL string
	HubCA  []byte
	// Detached processes outlive the program that started them.
	Detached bool
	// Program is the product; the one of scripts/build unless it is set.
	Program string

	mu        sync.Mutex
	processes []*proc.Process
	nodes     []*node.Node
}

// New is a stage on a control plane.
func New(root string, plane *lab.ControlPlane) (*Stage, error) {
	hub, err := Attach(plane)
	if err != nil {
		return nil, err
	}
	return &Stage{Root: root, Hub: hub, HubURL: plane.URL, HubCA: plane.CA()}, nil
}

// Binary is the product.
func (s *Stage) Binary() string {
	if s.Program != "" {
		return s.Program
	}
	return builtProgram(s.Root)
}

// builtProgram is where scripts/build puts the product.
func builtProgram(root string) string { return filepath.Join(root, "bin", "fleet") }

// StartController runs the hub's controller as its Deployment says, with the rights of its chart and no others. Like all
// processes of the stage it runs until it is stopped: ctx bounds the start only.
func (s *Stage) StartController(ctx context.Context, args ...string) (*proc.Process, error) {
	return s.StartControllerAs(ctx, "controller", args...)
}

// StartControllerAs is StartController in a pod of another name, for hubs with several.
func (s *Stage) StartControllerAs(ctx context.Context, podName string, args ...string) (*proc.Process, error) {
	deployment, err := s.Hub.Kube.AppsV1().Deployments(SystemNamespace).Get(ctx, controllerDeployment, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("the hub's chart is not installed: %w", err)
	}
	kubeconfig, err := s.accountKubeconfig(ctx, s.Hub, SystemNamespace, deployment.Spec.Template.Spec.ServiceAccountName, Front{URL: s.HubURL, CA: s.HubCA})
	if err != nil {
		return nil, err
	}
	all := []string{"controller", "--kubeconfig", kubeconfig, "--namespace", SystemNamespace}
	all = append(append(all, deployment.Spec.Template.Spec.Containers[0].Args...), args...)
	return s.start(ctx, s.Hub, podName, podEnv(deployment, SystemNamespace, podName), all...)
}

func (s *Stage) start(ctx context.Context, cluster *Cluster, name string, env []string, args ...string) (*proc.Process, error) {
	// What bounds a wait for the start must not end the process.
	p, err := proc.Start(context.WithoutCancel(ctx), proc.Spec{
		Name: name + " of " + cluster.Name, Path: s.Binary(), Args: args,
		Env: append(append([]string{}, env...), s.Env...),
		Log: filepath.Join(cluster.Dir, "logs", name+".log"), Detached: s.Detached,
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.processes = append(s.processes, p)
	return p, nil
}

// accountKubeconfig writes a kubeconfig of a service account beside the control plane's own.
func (s *Stage) accountKubeconfig(ctx context.Context, cluster *Cluster, namespace, account string, front Front) (string, error) {
	kubeconfig, err := lab.ServiceAccountKubeconfig(ctx, cluster.Config, namespace, account, accountLife, front.URL, front.CA)
	if err != nil {
		return "", err
	}
	path := filepath.Join(cluster.Dir, namespace+"-"+account+".kubeconfig")
	return path, kubeconfig.Write(path)
}

// Processes are all that the stage has started, also those that have ended.
func (s *Stage) Processes() []*proc.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := append([]*proc.Process(nil), s.processes...)
	for _, n := range s.nodes {
		all = append(all, n.Processes()...)
	}
	return all
}

// StopProcesses ends what runs, agents before the controller, and waits for it. One that does not end keeps none of the
// others.
func (s *Stage) StopProcesses(grace time.Duration) error {
	problems := s.stopNodes()
	processes := s.Processes()
	for i := len(processes) - 1; i >= 0; i-- {
		if p := processes[i]; p.Running() {
			if _, err := p.Stop(grace); err != nil {
				problems = append(problems, fmt.Errorf("ending %s: %w", p.Name, err))
			}
		}
	}
	return errors.Join(problems...)
}

// stopNodes ends the stand-ins for nodes, all at once, which would start again what is ended by itself.
func (s *Stage) stopNodes() []error {
	s.mu.Lock()
	nodes := s.nodes
	s.mu.Unlock()
	problems := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() { problems[i] = n.Stop() })
	}
	all.Wait()
	return problems
}
