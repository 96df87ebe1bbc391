package upgrade

import (
	"encoding/json"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/agentmanifest"
	"github.com/rancher/fleet/pkg/agentupgrade"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	// takeBackCrashes is how often a new pod may end, and takeBackPull how long its image may be missing.
	takeBackCrashes = 3
	takeBackPull    = 2 * time.Minute
)

// patience is how long a trouble has to last before it is told.
var patience = map[string]time.Duration{
	agentupgrade.PodRefused: 10 * time.Second, agentupgrade.Unschedulable: 10 * time.Second, agentupgrade.Pending: time.Minute,
	agentupgrade.HubUnreachable: 30 * time.Second, agentupgrade.NotReady: 30 * time.Second,
}

// facts are the objects as they are.
type facts struct {
	deployment *appsv1.Deployment
	sets       []*appsv1.ReplicaSet
	pods       []*corev1.Pod
	// self is the name of this agent's own pod.
	self string
	// probes says what the readiness probe of a pod said, by the pod's UID.
	probes map[string]string
	// wanted is the generation of the agent's bundle, as it was deployed last; empty while that is not known.
	wanted string
	now    time.Time
}

// trouble is what is in the way of a new pod, and since when.
type trouble struct {
	generation, reason, message string
	crashes                     int32
	since                       time.Time
}

// record is what is kept, in an annotation, of an upgrade that was taken back: the generation, and the one that was put
// back.
type record struct {
	Generation string      `json:"generation"`
	To         string      `json:"to,omitempty"`
	Message    string      `json:"message,omitempty"`
	Since      metav1.Time `json:"since"`
}

// verdict is what follows.
type verdict struct {
	trouble trouble
	report  *fleet.AgentUpgradeStatus
	// taken is the generation that report says was taken back, empty where it says something else.
	taken string
	// takeBack says that the template of own is to be put back.
	takeBack bool
	own      *appsv1.ReplicaSet
	// again is when to look although nothing changed, zero for never.
	again time.Time
}

// judge says how the upgrade goes. before is the trouble that was found last.
func judge(f facts, before trouble) verdict {
	self := f.pod(f.self)
	if f.deployment == nil || self == nil {
		return verdict{}
	}
	own, next := f.setOf(self), f.nextSet()
	if own == nil || next == nil {
		return verdict{}
	}
	kept := recordOf(f.deployment)
	said := kept.verdict(generationOf(own.Spec.Template), f.wanted)
	if own.UID == next.UID {
		return said
	}
	v := verdict{own: own, trouble: f.find(next)}
	v.trouble.generation = generationOf(next.Spec.Template)
	if kept.Generation == v.trouble.generation {
		// It was taken back once and came again: the hub, or a person, insists on it. It stays, and is still said.
		v.report, v.taken = said.report, said.taken
	}
	if v.trouble.reason == "" || v.report != nil {
		return v
	}
	v.trouble.since = f.now
	if before.generation == v.trouble.generation && before.reason == v.trouble.reason {
		v.trouble.since = before.since
	}
	if told := v.trouble.since.Add(patience[v.trouble.reason]); f.now.Before(told) {
		v.again = told
	} else {
		v.report = &fleet.AgentUpgradeStatus{
			Reason: v.trouble.reason, Message: agentupgrade.Message(v.trouble.message), Since: &metav1.Time{Time: v.trouble.since.UTC().Truncate(time.Second)},
		}
	}
	if v.trouble.generation == "" || kept.Generation == v.trouble.generation || !isReady(self) {
		return v
	}
	switch v.trouble.reason {
	case agentupgrade.CrashLoop:
		v.takeBack = v.trouble.crashes >= takeBackCrashes
	case agentupgrade.ImagePull:
		at := v.trouble.since.Add(takeBackPull)
		if v.takeBack = !f.now.Before(at); !v.takeBack {
			v.again = at
		}
	}
	return v
}

// verdict is what is said of an upgrade that was taken back, as long as the pod that it was put back to runs, and the bundle
// still wants the other: a bundle that wants what runs, or a third one, has nothing that was taken back. Nor has one whose
// Deployment somebody changed by hand within one generation: that is to be put right.
func (r record) verdict(running, wanted string) verdict {
	if r.Generation == "" || r.To != running || r.Generation == running || wanted != "" && wanted != r.Generation {
		return verdict{}
	}
	since := r.Since
	return verdict{
		report: &fleet.AgentUpgradeStatus{Reason: agentupgrade.TakenBack, Message: agentupgrade.Message(r.Message), Since: &since},
		taken:  r.Generation,
	}
}

func recordOf(d *appsv1.Deployment) record {
	var r record
	if json.Unmarshal([]byte(d.Annotations[names.AgentTakenBackAnnotation]), &r) != nil {
		return record{}
	}
	return r
}

func (f facts) pod(name string) *corev1.Pod {
	for _, p := range f.pods {
		if p.Name == name {
			return p
		}
	}
	return nil
}

func (f facts) setOf(pod *corev1.Pod) *appsv1.ReplicaSet {
	for _, set := range f.sets {
		if metav1.IsControlledBy(pod, set) && metav1.IsControlledBy(set, f.deployment) {
			return set
		}
	}
	return nil
}

// nextSet is the one of the Deployment's present template, as far as the Deployment's controller has made it.
func (f facts) nextSet() *appsv1.ReplicaSet {
	revision := f.deployment.Annotations[revisionAnnotation]
	for _, set := range f.sets {
		if metav1.IsControlledBy(set, f.deployment) && revision != "" && set.Annotations[revisionAnnotation] == revision {
			return set
		}
	}
	return nil
}

func generationOf(template corev1.PodTemplateSpec) string {
	for _, c := range template.Spec.Containers {
		if c.Name != names.AgentContainer {
			continue
		}
		for _, v := range c.Env {
			if v.Name == agentmanifest.EnvGeneration {
				return v.Value
			}
		}
	}
	return ""
}

func isReady(pod *corev1.Pod) bool {
	c := podCondition(pod, corev1.PodReady)
	return pod.DeletionTimestamp == nil && c != nil && c.Status == corev1.ConditionTrue
}

func podCondition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}
