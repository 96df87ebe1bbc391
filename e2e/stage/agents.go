package stage

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/rancher/fleet/e2e/node"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// agentPods selects the Pods of agents.
const agentPods = "app=" + agentDeployment

// AgentRun is a process of an agent, as its Pod names it.
type AgentRun struct {
	Pod, Process, Generation string
	// Ended says that the Pod is gone, or has another process.
	Ended bool
}

// AgentRuns are all processes of the agent in a namespace, from a moment on: also those that came and went meanwhile.
type AgentRuns struct {
	mu   sync.Mutex
	runs []AgentRun
}

// WatchAgents notes the agent's processes in a namespace of a cluster with a stand-in for a node, until ctx ends.
func WatchAgents(ctx context.Context, cluster *Cluster, namespace string) (*AgentRuns, error) {
	a := &AgentRuns{}
	factory := informers.NewSharedInformerFactoryWithOptions(cluster.Kube, 0, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = agentPods }))
	seen, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { a.see(obj, false) },
		UpdateFunc: func(_, obj any) { a.see(obj, false) },
		DeleteFunc: func(obj any) { a.see(obj, true) },
	})
	if err != nil {
		return nil, fmt.Errorf("watching the agents of %s: %w", cluster.Name, err)
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), seen.HasSynced) {
		return nil, fmt.Errorf("watching the agents of %s: %w", cluster.Name, context.Cause(ctx))
	}
	return a, nil
}

func (a *AgentRuns) see(obj any, gone bool) {
	if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return
	}
	process := ""
	for _, c := range pod.Status.ContainerStatuses {
		process = strings.TrimPrefix(c.ContainerID, node.ProcessID)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	known := false
	for i := range a.runs {
		run := &a.runs[i]
		if run.Pod == pod.Name {
			run.Ended = run.Ended || gone || run.Process != process
			known = known || run.Process == process
		}
	}
	if process != "" && !known {
		a.runs = append(a.runs, AgentRun{Pod: pod.Name, Process: process, Generation: GenerationOf(pod.Spec), Ended: gone})
	}
}

// All are the processes in the order in which they were seen.
func (a *AgentRuns) All() []AgentRun {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.runs)
}

// GenerationOf is the agent's GENERATION in a pod's template, empty where there is none.
func GenerationOf(spec corev1.PodSpec) string { return VariableOf(spec, "GENERATION") }

// VariableOf is an environment variable of a pod's template, empty where there is none.
func VariableOf(spec corev1.PodSpec, name string) string {
	for _, c := range spec.Containers {
		for _, v := range c.Env {
			if v.Name == name {
				return v.Value
			}
		}
	}
	return ""
}

// GivenGeneration is the GENERATION that a bundle gives to its agent, empty where it is no agent's.
func GivenGeneration(bundle *fleet.Bundle) string {
	var mark struct{ Generation string }
	if json.Unmarshal([]byte(bundle.Annotations[names.AgentUpgradeAnnotation]), &mark) != nil {
		return ""
	}
	return mark.Generation
}
