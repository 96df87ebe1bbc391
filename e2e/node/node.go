package node

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/rancher/fleet/e2e/proc"
)

const (
	// DefaultName is the name of a node that is not given one.
	DefaultName = "node-1"
	// Hold is the annotation of Pods that are to run without getting Ready. Its value is the reason that they give.
	Hold = "lab/hold"
	// Unpullable is in the names of images that nobody can pull.
	Unpullable = "no-such-image"
	// ProcessID begins the container ID of an agent; its process follows.
	ProcessID = "process://"

	// workers is how many Pods are looked after at a time.
	workers = 4
	// minBackOff and maxBackOff bound the pause after a request that failed.
	minBackOff, maxBackOff = 50 * time.Millisecond, 5 * time.Second
)

// Config says which node this is and how agents run on it.
type Config struct {
	// REST is a client configuration with all rights on the cluster.
	REST *rest.Config
	// Name of the node; DefaultName if empty.
	Name string
	// Dir gets the logs (logs/POD.log) and the Pods' folders (pods/POD).
	Dir string
	// Program is the product's binary.
	Program string
	// Kubeconfig writes a kubeconfig with the rights of a service account to a file.
	Kubeconfig func(ctx context.Context, namespace, account, path string) error
	// Env is added to the environment of the agents.
	Env []string
	// Complain is told what went wrong; nothing is if it is nil.
	Complain func(format string, args ...any)
}

// Node looks after the Pods of one cluster.
type Node struct {
	cfg    Config
	client kubernetes.Interface
	pods   corelisters.PodLister
	queue  workqueue.TypedRateLimitingInterface[string]
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu     sync.Mutex
	agents map[types.UID]*agentPod
	all    []*proc.Process
	ips    int
}

// Start makes the Node and looks after Pods from then on. It returns when the node can be used; ctx bounds the start only.
func Start(ctx context.Context, cfg Config) (*Node, error) {
	if cfg.Name == "" {
		cfg.Name = DefaultName
	}
	if cfg.Complain == nil {
		cfg.Complain = func(string, ...any) {}
	}
	client, err := kubernetes.NewForConfig(cfg.REST)
	if err != nil {
		return nil, fmt.Errorf("client of node %s: %w", cfg.Name, err)
	}
	n := &Node{
		cfg: cfg, client: client, agents: map[types.UID]*agentPod{},
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](minBackOff, maxBackOff)),
	}
	if err := n.register(ctx); err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	n.cancel = cancel
	if err := n.watch(ctx, running); err != nil {
		return nil, errors.Join(err, n.Stop())
	}
	n.done.Go(func() { n.beat(running) })
	for range workers {
		n.done.Go(func() { n.work(running) })
	}
	return n, nil
}

// watch fills the cache; ctx bounds the wait for it, running its life.
func (n *Node) watch(ctx, running context.Context) error {
	factory := informers.NewSharedInformerFactory(n.client, 0)
	pods := factory.Core().V1().Pods()
	enqueue := func(obj any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
			n.queue.Add(key)
		}
	}
	registration, err := pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, DeleteFunc: n.podGone, UpdateFunc: func(_, obj any) { enqueue(obj) },
	})
	if err != nil {
		return fmt.Errorf("watch of node %s: %w", n.cfg.Name, err)
	}
	n.pods = pods.Lister()
	factory.Start(running.Done())
	n.done.Go(func() {
		<-running.Done()
		factory.Shutdown()
	})
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return fmt.Errorf("node %s: waiting for the list of Pods: %w", n.cfg.Name, context.Cause(ctx))
	}
	return nil
}

// Stop ends the processes and then the node itself; its Pods stay as they are.
func (n *Node) Stop() error {
	n.cancel()
	n.queue.ShutDown()
	n.done.Wait() // from here on nobody starts an agent
	n.mu.Lock()
	agents := n.agents
	n.agents = map[types.UID]*agentPod{}
	n.mu.Unlock()
	var all sync.WaitGroup
	errs := make(chan error, len(agents))
	for _, agent := range agents {
		all.Go(func() { errs <- agent.stop(stopGrace) })
	}
	all.Wait()
	close(errs)
	var problems []error
	for err := range errs {
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// Processes are all that the node has started, also those that have ended.
func (n *Node) Processes() []*proc.Process {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]*proc.Process(nil), n.all...)
}

// Agents are the running agents of a namespace, by the names of their Pods.
func (n *Node) Agents(namespace string) map[string]*proc.Process {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := map[string]*proc.Process{}
	for _, agent := range n.agents {
		if p := agent.process(); p != nil && p.Running() && agent.pod.Namespace == namespace {
			out[agent.pod.Name] = p
		}
	}
	return out
}

func (n *Node) work(ctx context.Context) {
	for {
		key, stop := n.queue.Get()
		if stop {
			return
		}
		if err := n.look(ctx, key); err != nil && ctx.Err() == nil {
			if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				n.cfg.Complain("node %s: Pod %s: %v", n.cfg.Name, key, err)
			}
			n.queue.AddRateLimited(key)
		} else {
			n.queue.Forget(key)
		}
		n.queue.Done(key)
	}
}

// look does what a Pod needs next.
func (n *Node) look(ctx context.Context, key string) error {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return err
	}
	pod, err := n.pods.Pods(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return nil // podGone has ended what ran
	}
	if err != nil {
		return err
	}
	switch {
	case pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil:
		return n.schedule(ctx, pod)
	case pod.Spec.NodeName != n.cfg.Name:
		return nil
	case pod.DeletionTimestamp != nil:
		return n.end(ctx, pod)
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		return nil
	default:
		return n.report(ctx, pod)
	}
}

func (n *Node) podDir(pod *corev1.Pod) string {
	return filepath.Join(n.cfg.Dir, "pods", pod.Namespace+"_"+pod.Name)
}
