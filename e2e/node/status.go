package node

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// view is what a node knows of a Pod's containers.
type view struct {
	ready bool
	// held is set while somebody keeps the Pod from getting Ready; why says so.
	held bool
	// waiting is the reason of a container that does not run; why is its message.
	waiting, why string
	// pid is the process of an agent that runs.
	pid      int
	restarts int32
	lastExit *int32
	done     bool
}

// viewOf is the view of Pods that no process belongs to.
func viewOf(pod *corev1.Pod) view {
	if reason := pod.Annotations[Hold]; reason != "" {
		return view{held: true, why: reason}
	}
	for _, c := range pod.Spec.Containers {
		if strings.Contains(c.Image, Unpullable) {
			return view{waiting: "ImagePullBackOff", why: fmt.Sprintf("Back-off pulling image %q", c.Image)}
		}
	}
	return view{ready: true, done: pod.Spec.RestartPolicy != corev1.RestartPolicyAlways}
}

// fill writes a view as a Pod's status. What is the same already keeps its times.
func (n *Node) fill(pod *corev1.Pod, status *corev1.PodStatus, v view) {
	status.Phase = corev1.PodRunning
	switch {
	case v.done:
		status.Phase = corev1.PodSucceeded
	case v.waiting != "" && v.restarts == 0:
		status.Phase = corev1.PodPending
	}
	if status.StartTime == nil {
		now := metav1.Now()
		status.StartTime = &now
	}
	status.HostIP = "192.0.2.1"
	status.HostIPs = []corev1.HostIP{{IP: status.HostIP}}
	if status.PodIP == "" {
		status.PodIP = n.nextIP()
		status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
	}
	status.InitContainerStatuses = nil
	for _, c := range pod.Spec.InitContainers {
		status.InitContainerStatuses = append(status.InitContainerStatuses, containerStatus(c, status, view{ready: true, done: true}))
	}
	status.ContainerStatuses = nil
	for _, c := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, containerStatus(c, status, v))
	}
	ready := corev1.PodCondition{Status: corev1.ConditionTrue}
	switch {
	case v.done:
		ready = corev1.PodCondition{Status: corev1.ConditionFalse, Reason: "PodCompleted"}
	case !v.ready:
		ready = corev1.PodCondition{Status: corev1.ConditionFalse, Reason: "ContainersNotReady", Message: v.why}
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady} {
		ready.Type = kind
		setCondition(status, ready)
	}
	setCondition(status, corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionTrue})
}

func containerStatus(c corev1.Container, status *corev1.PodStatus, v view) corev1.ContainerStatus {
	started := v.waiting == "" && !v.done
	out := corev1.ContainerStatus{Name: c.Name, Image: c.Image, ImageID: c.Image, Ready: v.ready && !v.done, RestartCount: v.restarts, Started: &started}
	if v.pid != 0 {
		out.ContainerID = fmt.Sprintf("%s%d", ProcessID, v.pid)
	}
	if v.lastExit != nil {
		out.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: *v.lastExit, Reason: "Error"}
	}
	switch {
	case v.waiting != "":
		out.State.Waiting = &corev1.ContainerStateWaiting{Reason: v.waiting, Message: v.why}
	case v.done:
		out.State.Terminated = &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: *status.StartTime, FinishedAt: *status.StartTime}
	default:
		out.State.Running = &corev1.ContainerStateRunning{StartedAt: *status.StartTime}
	}
	return out
}

// setCondition changes a condition; its time is that of the change of its status.
func setCondition(status *corev1.PodStatus, c corev1.PodCondition) {
	c.LastTransitionTime = metav1.Now()
	for i, old := range status.Conditions {
		if old.Type != c.Type {
			continue
		}
		if old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		c.ObservedGeneration, c.LastProbeTime = old.ObservedGeneration, old.LastProbeTime
		status.Conditions[i] = c
		return
	}
	status.Conditions = append(status.Conditions, c)
}

// nextIP is an address that no other Pod of the node has got.
func (n *Node) nextIP() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ips++
	return fmt.Sprintf("10.%d.%d.%d", 96+n.ips>>16, n.ips>>8&0xff, n.ips&0xff)
}
