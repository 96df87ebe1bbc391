package upgrade

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/pkg/agentupgrade"
	"github.com/rancher/fleet/pkg/names"
)

const namespace = "cattle-fleet-system"

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func template(generation string) corev1.PodTemplateSpec {
	c := corev1.Container{Name: "fleet-agent"}
	if generation != "" {
		c.Env = []corev1.EnvVar{{Name: "GENERATION", Value: generation}}
	}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "fleet-agent"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{c}},
	}
}

func owned(name, kind, owner string, uid types.UID) metav1.ObjectMeta {
	yes := true
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: uid, OwnerReferences: []metav1.OwnerReference{{
		Kind: kind, Name: owner, UID: types.UID("uid-" + owner), Controller: &yes,
	}}}
}

func set(name, revision, generation string) *appsv1.ReplicaSet {
	s := &appsv1.ReplicaSet{ObjectMeta: owned(name, "Deployment", "fleet-agent", types.UID("uid-"+name)), Spec: appsv1.ReplicaSetSpec{Template: template(generation)}}
	s.Annotations = map[string]string{revisionAnnotation: revision}
	s.Spec.Template.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = name
	return s
}

func pod(name, set string, changes ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: owned(name, "ReplicaSet", set, types.UID("uid-"+name))}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "fleet-agent"}}
	for _, f := range changes {
		f(p)
	}
	return p
}

func is(kind corev1.PodConditionType, value corev1.ConditionStatus, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: value, Message: message})
	}
}

var readyPod = is(corev1.PodReady, corev1.ConditionTrue, "")

func waits(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0].State.Waiting = &corev1.ContainerStateWaiting{Reason: reason, Message: message}
	}
}

func runs(p *corev1.Pod) {
	p.Status.ContainerStatuses[0].State.Running = &corev1.ContainerStateRunning{}
}

func crashed(times int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		s := &p.Status.ContainerStatuses[0]
		s.RestartCount = times
		s.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}
		s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled", Message: "secret words"}
	}
}

// upgrading is an agent that runs generation g1 in pod old, while the Deployment wants g2; next is its pod, if there is one.
func upgrading(next ...*corev1.Pod) facts {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.AgentDeployment, UID: "uid-fleet-agent", Annotations: map[string]string{revisionAnnotation: "2"}},
		Spec:       appsv1.DeploymentSpec{Template: template("g2")},
	}
	return facts{
		deployment: d, self: "old", now: now, probes: map[string]string{},
		sets: []*appsv1.ReplicaSet{set("one", "1", "g1"), set("two", "2", "g2")},
		pods: append([]*corev1.Pod{pod("old", "one", runs, readyPod)}, next...),
	}
}

// pressed is the same after a trouble has lasted for that long.
func pressed(f facts, reason string, lasted time.Duration) verdict {
	return judge(f, trouble{generation: "g2", reason: reason, since: now.Add(-lasted)})
}

func TestWhatIsInTheWayOfTheNewPod(t *testing.T) {
	refused := upgrading()
	refused.sets[1].Status.Conditions = []appsv1.ReplicaSetCondition{{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota"}}
	unreachable := upgrading(pod("new", "two", runs))
	unreachable.probes["uid-new"] = "Readiness probe failed: fleet: the hub cannot be reached: no route"
	for name, test := range map[string]struct {
		facts         facts
		reason, words string
		patience      time.Duration
	}{
		"a quota":              {refused, "PodRefused", "exceeded quota", 10 * time.Second},
		"no node":              {upgrading(pod("new", "two", is(corev1.PodScheduled, corev1.ConditionFalse, "0/3 nodes"))), "Unschedulable", "0/3 nodes", 10 * time.Second},
		"no image":             {upgrading(pod("new", "two", waits("ErrImagePull", "not found"))), "ImagePull", "pod new: ErrImagePull: not found", 0},
		"a crash":              {upgrading(pod("new", "two", crashed(1))), "CrashLoop", "ended 1 times, last with exit code 137 (OOMKilled)", 0},
		"a volume":             {upgrading(pod("new", "two", waits("ContainerCreating", ""))), "Pending", "ContainerCreating", time.Minute},
		"no kubelet":           {upgrading(pod("new", "two", func(p *corev1.Pod) { p.Status.ContainerStatuses = nil })), "Pending", "has not started", time.Minute},
		"the hub, by an Event": {unreachable, "HubUnreachable", "the hub cannot be reached: no route", 30 * time.Second},
		"the hub, by the pod":  {upgrading(pod("new", "two", runs, is(corev1.PodReady, corev1.ConditionFalse, "fleet: the hub cannot be reached: eof"))), "HubUnreachable", "eof", 30 * time.Second},
		"something else":       {upgrading(pod("new", "two", runs)), "NotReady", "does not get ready", 30 * time.Second},
	} {
		v := judge(test.facts, trouble{})
		assert.Equal(t, test.patience == 0, v.report != nil, name)
		if test.patience > 0 {
			assert.Nil(t, pressed(test.facts, test.reason, test.patience-1).report, name)
		}
		v = pressed(test.facts, test.reason, test.patience)
		require.NotNil(t, v.report, name)
		assert.Equal(t, test.reason, v.report.Reason, name)
		assert.Contains(t, v.report.Message, test.words, name)
		assert.NotContains(t, v.report.Message, "secret", name)
		assert.False(t, v.takeBack, name)
	}
}

func TestNothingIsSaidWhileAllIsWell(t *testing.T) {
	settled := upgrading()
	settled.sets = settled.sets[:1]
	settled.deployment.Annotations[revisionAnnotation] = "1"
	notYet := upgrading()
	notYet.sets = notYet.sets[:1]
	plain := upgrading()
	plain.self = "nobody"
	for name, f := range map[string]facts{
		"no upgrade":                            settled,
		"its pod is not made yet":               upgrading(),
		"its set is not made yet":               notYet,
		"the new one is ready":                  upgrading(pod("new", "two", crashed(5)), pod("new2", "two", readyPod)),
		"the broken one is on its way out":      upgrading(pod("new", "two", crashed(5), func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: now} })),
		"another's pod":                         upgrading(pod("new", "three", crashed(5))),
		"this process runs in none of the pods": plain,
		"there is no Deployment":                {self: "old", pods: upgrading().pods},
	} {
		v := judge(f, trouble{})
		assert.Nil(t, v.report, name)
		assert.False(t, v.takeBack, name)
	}
}

func TestWhatIsTakenBack(t *testing.T) {
	broken, missing := pod("new", "two", crashed(3)), pod("new", "two", waits("ImagePullBackOff", ""))
	changed := func(f facts, change func(*facts)) facts { change(&f); return f }
	notReady := func(f *facts) { f.pods[0] = pod("old", "one", runs, is(corev1.PodReady, corev1.ConditionFalse, "")) }
	for name, test := range map[string]struct {
		facts  facts
		reason string
		lasted time.Duration
		back   bool
	}{
		"crashed often enough":     {upgrading(broken), "CrashLoop", 0, true},
		"crashed once or twice":    {upgrading(pod("new", "two", crashed(2))), "CrashLoop", time.Hour, false},
		"no image for long":        {upgrading(missing), "ImagePull", takeBackPull, true},
		"no image for a moment":    {upgrading(missing), "ImagePull", takeBackPull - 1, false},
		"its own pod is not ready": {changed(upgrading(broken), notReady), "CrashLoop", 0, false},
		"no node, for ever":        {upgrading(pod("new", "two", is(corev1.PodScheduled, corev1.ConditionFalse, ""))), "Unschedulable", time.Hour, false},
		"no hub, for ever":         {upgrading(pod("new", "two", runs)), "NotReady", time.Hour, false},
		"it was taken back before": {changed(upgrading(broken), func(f *facts) {
			f.deployment.Annotations[names.AgentTakenBackAnnotation] = `{"generation":"g2","to":"g1"}`
		}), "CrashLoop", 0, false},
		"another one was": {changed(upgrading(broken), func(f *facts) {
			f.deployment.Annotations[names.AgentTakenBackAnnotation] = `{"generation":"g0","to":"g1"}`
		}), "CrashLoop", 0, true},
		"a person's, without GENERATION": {changed(upgrading(broken), func(f *facts) { f.sets[1].Spec.Template = template("") }), "CrashLoop", 0, false},
	} {
		v := pressed(test.facts, test.reason, test.lasted)
		assert.Equal(t, test.back, v.takeBack, name)
		require.NotNil(t, v.report, name)
	}
}

func TestATroubleThatChangesBeginsAnew(t *testing.T) {
	f := upgrading(pod("new", "two", waits("ImagePullBackOff", "")))
	assert.Equal(t, now.Add(-time.Minute), pressed(f, "ImagePull", time.Minute).trouble.since)
	assert.Equal(t, now, pressed(f, "Pending", time.Minute).trouble.since)
	assert.Equal(t, now, judge(f, trouble{generation: "g1", reason: "ImagePull", since: now.Add(-time.Hour)}).trouble.since)
	assert.Equal(t, now.Add(takeBackPull), judge(f, trouble{}).again)
}

// What was taken back is said as long as the pod runs to which it was put back.
func TestWhatWasTakenBackIsSaid(t *testing.T) {
	f := upgrading()
	f.deployment.Annotations = map[string]string{
		revisionAnnotation: "1", names.AgentTakenBackAnnotation: `{"generation":"g2","to":"g1","message":"CrashLoop: it crashed","since":"2026-03-01T12:00:00Z"}`,
	}
	v := judge(f, trouble{})
	require.NotNil(t, v.report)
	assert.Equal(t, "TakenBack", v.report.Reason)
	assert.Equal(t, "CrashLoop: it crashed", v.report.Message)
	assert.Equal(t, "g2", v.taken)
	f.sets[0].Spec.Template = template("g3")
	assert.Nil(t, judge(f, trouble{}).report)
}

// A bundle that wants what runs, or a third one, has nothing that was taken back. Whoever brings the other again by hand is
// told what is in its way, and it is not taken back a second time.
func TestWhatWasTakenBackIsNotSaidOfABundleThatWantsAnother(t *testing.T) {
	const note = `{"generation":"g2","to":"g1","message":"CrashLoop: it crashed","since":"2026-03-01T12:00:00Z"}`
	for wanted, said := range map[string]bool{"": true, "g2": true, "g1": false, "g3": false} {
		back := upgrading()
		back.deployment.Annotations = map[string]string{revisionAnnotation: "1", names.AgentTakenBackAnnotation: note}
		back.wanted = wanted
		assert.Equal(t, said, judge(back, trouble{}).report != nil, "wanted %q", wanted)

		insisted := upgrading(pod("new", "two", crashed(3)))
		insisted.deployment.Annotations[names.AgentTakenBackAnnotation] = note
		insisted.wanted = wanted
		v := judge(insisted, trouble{})
		require.NotNil(t, v.report, "wanted %q", wanted)
		assert.Equal(t, said, v.report.Reason == "TakenBack", "wanted %q", wanted)
		assert.False(t, v.takeBack, "wanted %q", wanted)
	}
}

func TestAMessageIsBounded(t *testing.T) {
	v := judge(upgrading(pod("new", "two", waits("ErrImagePull", strings.Repeat("é\n", 500)))), trouble{})
	assert.LessOrEqual(t, len(v.report.Message), 256)
	assert.NotContains(t, v.report.Message, "\n")
}

// Somebody changes the image by hand while the bundle is paused: the template is put back, and the bundle, which wants just
// that, is not left alone for it.
func TestNothingIsSaidToBeTakenBackWithinOneGeneration(t *testing.T) {
	f := upgrading(pod("new", "two", crashed(takeBackCrashes)))
	f.deployment.Spec.Template, f.sets[1].Spec.Template = template("g1"), template("g1")
	for _, wanted := range []string{"", "g1"} {
		f.wanted = wanted
		v := judge(f, trouble{generation: "g1", reason: agentupgrade.CrashLoop, since: now.Add(-time.Minute)})
		require.True(t, v.takeBack)
		_, kept, err := withTemplateOf(f.deployment, v)
		require.NoError(t, err)
		said := kept.verdict(kept.To, wanted)
		assert.Nil(t, said.report)
		assert.Empty(t, said.taken, "else the agent's bundle is not put right any more")
	}
}
