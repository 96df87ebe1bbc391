package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/rancher/fleet/e2e/proc"
)

const (
	// agentCommand is the first word of the command of an agent's container.
	agentCommand = "fleetagent"
	// stopGrace is how long a process may take to end where its Pod does not say.
	stopGrace = 30 * time.Second
	// firstPause and longestPause are between the starts of a process that keeps ending; a kubelet's are ten times as long.
	firstPause, longestPause = time.Second, 30 * time.Second
	// healthyAfter is how long a process has to run for its next end to count as the first.
	healthyAfter = time.Minute
)

// isAgent says that a Pod runs the product's agent.
func isAgent(pod *corev1.Pod) bool {
	command := pod.Spec.Containers[0].Command
	return len(command) > 0 && filepath.Base(command[0]) == agentCommand
}

// agentPod is the process of an agent's Pod, from its start to its end, over all restarts.
type agentPod struct {
	node   *Node
	pod    *corev1.Pod
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	current *proc.Process
	seen    view
	grace   time.Duration
	err     error
}

// agentOf is the process of a Pod, started if it has none.
func (n *Node) agentOf(pod *corev1.Pod) *agentPod {
	n.mu.Lock()
	defer n.mu.Unlock()
	if agent := n.agents[pod.UID]; agent != nil {
		return agent
	}
	ctx, cancel := context.WithCancel(context.Background())
	agent := &agentPod{
		node: n, pod: pod, cancel: cancel, done: make(chan struct{}), grace: stopGrace,
		seen: view{waiting: "ContainerCreating"},
	}
	n.agents[pod.UID] = agent
	go agent.run(ctx)
	return agent
}

// takeAgent leaves the process to the caller to end; nil if there is none.
func (n *Node) takeAgent(uid types.UID) *agentPod {
	n.mu.Lock()
	defer n.mu.Unlock()
	agent := n.agents[uid]
	delete(n.agents, uid)
	return agent
}

func stopGraceOf(pod *corev1.Pod) time.Duration {
	if seconds := pod.Spec.TerminationGracePeriodSeconds; seconds != nil {
		return max(time.Duration(*seconds)*time.Second, time.Second)
	}
	return stopGrace
}

// stop ends the process and waits for its end.
func (a *agentPod) stop(grace time.Duration) error {
	a.mu.Lock()
	a.grace = grace
	a.mu.Unlock()
	a.cancel()
	<-a.done
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

func (a *agentPod) process() *proc.Process {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.current
}

func (a *agentPod) view() view {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen
}

// note changes the view and lets the node write it.
func (a *agentPod) note(change func(*view)) {
	a.mu.Lock()
	change(&a.seen)
	a.mu.Unlock()
	if key, err := cache.MetaNamespaceKeyFunc(a.pod); err == nil {
		a.node.queue.Add(key)
	}
}

// run keeps a process running until ctx ends.
func (a *agentPod) run(ctx context.Context) {
	defer close(a.done)
	for pause := time.Duration(0); ; {
		began := time.Now()
		why, exit := a.runOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > healthyAfter {
			pause = 0
		}
		a.note(func(v *view) {
			*v = view{waiting: "CrashLoopBackOff", why: why, restarts: v.restarts + 1, lastExit: exit}
		})
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(max(firstPause, 2*pause), longestPause)
	}
}

// runOnce starts the process and returns how it ended.
func (a *agentPod) runOnce(ctx context.Context) (why string, exit *int32) {
	p, err := a.start(ctx)
	if err != nil {
		return err.Error(), nil
	}
	a.mu.Lock()
	a.current = p
	a.mu.Unlock()
	probing, stopProbing := context.WithCancel(ctx)
	defer stopProbing()
	probe := a.pod.Spec.Containers[0].ReadinessProbe
	a.note(func(v *view) {
		*v = view{ready: probe == nil || probe.Exec == nil, pid: p.PID(), restarts: v.restarts, lastExit: v.lastExit}
	})
	if probe != nil && probe.Exec != nil {
		go a.probe(probing, probe)
	}
	select {
	case <-p.Done():
		code := int32(p.ExitCode())
		return fmt.Sprintf("back-off restarting the container, which ended with code %d", code), &code
	case <-ctx.Done():
		a.mu.Lock()
		defer a.mu.Unlock()
		_, a.err = p.Stop(a.grace)
		return "", nil
	}
}

// start runs the product with the rights, the arguments and the environment of the Pod.
func (a *agentPod) start(ctx context.Context) (*proc.Process, error) {
	dir := a.node.podDir(a.pod)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of the Pod: %w", err)
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := a.node.cfg.Kubeconfig(ctx, a.pod.Namespace, a.pod.Spec.ServiceAccountName, kubeconfig); err != nil {
		return nil, err
	}
	c := a.pod.Spec.Containers[0]
	args := append([]string{"agent", "--kubeconfig", kubeconfig, "--namespace", a.pod.Namespace}, c.Command[1:]...)
	p, err := proc.Start(context.WithoutCancel(ctx), proc.Spec{
		Name: a.pod.Name, Path: a.node.cfg.Program, Args: append(args, c.Args...), Env: a.environment(),
		Log: filepath.Join(a.node.cfg.Dir, "logs", a.pod.Name+".log"),
	})
	if err != nil {
		return nil, err
	}
	a.node.mu.Lock()
	defer a.node.mu.Unlock()
	a.node.all = append(a.node.all, p)
	return p, nil
}

func (a *agentPod) environment() []string {
	dir := a.node.podDir(a.pod)
	env := []string{"TMPDIR=" + dir, "HOME=" + dir}
	env = append(env, Environment(a.pod.Spec.Containers[0], a.pod)...)
	return append(env, a.node.cfg.Env...)
}
