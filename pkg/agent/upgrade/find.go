package upgrade

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/agent/ready"
	"github.com/rancher/fleet/pkg/agentupgrade"
	"github.com/rancher/fleet/pkg/names"
)

// cannotPull are the reasons of a kubelet for a container whose image is not there.
var cannotPull = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable", "ImageInspectError"}

// find says what is in the way of the pods of a set: of the worst off of them, since one that is ready takes over.
func (f facts) find(set *appsv1.ReplicaSet) trouble {
	var found trouble
	for _, pod := range f.pods {
		if !metav1.IsControlledBy(pod, set) || pod.DeletionTimestamp != nil {
			continue
		}
		if isReady(pod) {
			return trouble{}
		}
		if t := f.inPod(pod); found.reason == "" || t.crashes > found.crashes {
			found = t
		}
	}
	if found.reason != "" {
		return found
	}
	for _, c := range set.Status.Conditions {
		if c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue {
			return trouble{reason: agentupgrade.PodRefused, message: "the new pod cannot be made: " + c.Message}
		}
	}
	return trouble{}
}

func (f facts) inPod(pod *corev1.Pod) trouble {
	say := func(reason, format string, args ...any) trouble {
		return trouble{reason: reason, message: fmt.Sprintf("pod %s: ", pod.Name) + fmt.Sprintf(format, args...)}
	}
	if c := podCondition(pod, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse {
		return say(agentupgrade.Unschedulable, "%s", c.Message)
	}
	status := containerOf(pod)
	if status == nil {
		return say(agentupgrade.Pending, "it has not started (%s)", pod.Status.Phase)
	}
	waiting := status.State.Waiting
	switch {
	case waiting != nil && slices.Contains(cannotPull, waiting.Reason):
		return say(agentupgrade.ImagePull, "%s: %s", waiting.Reason, waiting.Message)
	case status.RestartCount > 0 && (status.State.Running == nil || !status.Ready && status.RestartCount >= takeBackCrashes):
		t := say(agentupgrade.CrashLoop, "ended %d times%s", status.RestartCount, lastEnd(status))
		t.crashes = status.RestartCount
		return t
	case waiting != nil:
		return say(agentupgrade.Pending, "%s %s", waiting.Reason, waiting.Message)
	}
	said := f.probes[string(pod.UID)]
	if c := podCondition(pod, corev1.PodReady); said == "" && c != nil {
		said = c.Message
	}
	if strings.Contains(said, ready.HubUnreachable) {
		return say(agentupgrade.HubUnreachable, "%s", said[strings.Index(said, ready.HubUnreachable):])
	}
	return say(agentupgrade.NotReady, "it runs and does not get ready: %s", said)
}

func containerOf(pod *corev1.Pod) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == names.AgentContainer {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}

// lastEnd is how a container ended. Its own last words are left out: nobody knows what is in them.
func lastEnd(status *corev1.ContainerStatus) string {
	end := status.LastTerminationState.Terminated
	if end == nil {
		end = status.State.Terminated
	}
	if end == nil {
		return ""
	}
	return fmt.Sprintf(", last with exit code %d (%s)", end.ExitCode, end.Reason)
}
