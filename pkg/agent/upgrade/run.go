package upgrade

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/rancher/fleet/pkg/agent/pace"
	"github.com/rancher/fleet/pkg/agentupgrade"
	"github.com/rancher/fleet/pkg/names"
)

const (
	callTimeout = 15 * time.Second
	// retry is the pause after the agent's own cluster has failed to answer.
	retry = 30 * time.Second
)

// Config is what the watch over the upgrade works with.
type Config struct {
	// Client is of the agent's own cluster, Namespace the agent's and Pod the name of its own pod.
	Client         kubernetes.Interface
	Namespace, Pod string
	Report         *Report
	Clock          clock.WithTicker
}

type watcher struct {
	Config
	stores  stores
	changed chan struct{}
	before  trouble
}

// Run watches until the context ends. An agent that runs in no pod of a Deployment has nothing to watch.
func Run(ctx context.Context, c Config) {
	if c.Pod == "" || !inCluster(ctx, c) {
		return
	}
	w := &watcher{Config: c, changed: make(chan struct{}, 1)}
	var watching sync.WaitGroup
	defer watching.Wait()
	informers, err := w.watch()
	if err != nil {
		logrus.Warnf("The agent's own upgrade is not watched: %v", err)
		return
	}
	for _, informer := range informers {
		watching.Go(func() { informer.RunWithContext(ctx) })
	}
	for _, informer := range informers {
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			return
		}
	}
	for ctx.Err() == nil {
		w.await(ctx, w.look(ctx))
	}
}

// inCluster says whether this process runs in the pod that it names. It waits while the cluster does not say.
func inCluster(ctx context.Context, c Config) bool {
	for {
		err := getPod(ctx, c)
		if err == nil || apierrors.IsNotFound(err) {
			return err == nil
		}
		if pace.Sleep(ctx, c.Clock, retry) != nil {
			return false
		}
	}
}

func getPod(ctx context.Context, c Config) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := c.Client.CoreV1().Pods(c.Namespace).Get(ctx, c.Pod, metav1.GetOptions{})
	return err
}

func (w *watcher) await(ctx context.Context, pause time.Duration) {
	timer := w.Clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-w.changed:
	case <-w.Report.wants:
	case <-timer.C():
	}
}

// look judges and acts; the result is when to look again without a change.
func (w *watcher) look(ctx context.Context) time.Duration {
	f := w.stores.facts(w.Pod, w.Clock.Now())
	f.wanted = w.Report.wantedNow()
	f.probes = w.probes(ctx, f)
	v := judge(f, w.before)
	w.before = v.trouble
	if v.takeBack {
		kept, err := w.takeBack(ctx, f, v)
		if err == nil {
			// It is said at once, and not when the watch shows it: the bundle, which is not as it should be now, must know why.
			w.Report.set(kept.verdict(kept.To, f.wanted))
			return time.Hour
		}
		if ctx.Err() == nil {
			logrus.Warnf("The agent's new pod cannot be taken back, trying again: %v", err)
		}
		w.Report.set(v)
		return retry
	}
	w.Report.set(v)
	if v.again.IsZero() {
		return time.Hour
	}
	return max(v.again.Sub(f.now), 0)
}

// takeBack puts the template of this agent's own pod back. Both are read live first: nothing is touched while this pod is
// not ready itself, or if the template is another by now.
func (w *watcher) takeBack(ctx context.Context, f facts, v verdict) (record, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	self, err := w.Client.CoreV1().Pods(w.Namespace).Get(ctx, w.Pod, metav1.GetOptions{})
	if err != nil {
		return record{}, fmt.Errorf("pod %s/%s: %w", w.Namespace, w.Pod, err)
	}
	live, err := w.Client.AppsV1().Deployments(w.Namespace).Get(ctx, names.AgentDeployment, metav1.GetOptions{})
	if err != nil {
		return record{}, fmt.Errorf("Deployment %s/%s: %w", w.Namespace, names.AgentDeployment, err)
	}
	switch {
	case !isReady(self):
		return record{}, fmt.Errorf("pod %s/%s is not ready itself", w.Namespace, w.Pod)
	case live.UID != f.deployment.UID || generationOf(live.Spec.Template) != v.trouble.generation:
		return record{}, fmt.Errorf("Deployment %s/%s has changed meanwhile", w.Namespace, names.AgentDeployment)
	}
	changed, kept, err := withTemplateOf(live, v)
	if err != nil {
		return record{}, err
	}
	if _, err := w.Client.AppsV1().Deployments(w.Namespace).Update(ctx, changed, metav1.UpdateOptions{}); err != nil {
		return record{}, fmt.Errorf("Deployment %s/%s: %w", w.Namespace, names.AgentDeployment, err)
	}
	logrus.Warnf("The agent's upgrade to generation %s was taken back: %s", v.trouble.generation, agentupgrade.Message(v.trouble.message))
	return kept, nil
}

func withTemplateOf(live *appsv1.Deployment, v verdict) (*appsv1.Deployment, record, error) {
	changed := live.DeepCopy()
	changed.Spec.Template = *v.own.Spec.Template.DeepCopy()
	delete(changed.Spec.Template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	kept := record{
		Generation: v.trouble.generation, To: generationOf(v.own.Spec.Template), Since: metav1.NewTime(v.trouble.since.UTC().Truncate(time.Second)),
		Message: agentupgrade.Message(v.trouble.reason + ": " + v.trouble.message),
	}
	note, err := json.Marshal(kept)
	if err != nil {
		return nil, record{}, err
	}
	if changed.Annotations == nil {
		changed.Annotations = map[string]string{}
	}
	changed.Annotations[names.AgentTakenBackAnnotation] = string(note)
	return changed, kept, nil
}

// probes asks what the readiness probes of pods said that run and are not ready: the kubelet says it in Events only.
func (w *watcher) probes(ctx context.Context, f facts) map[string]string {
	out := map[string]string{}
	for _, pod := range f.pods {
		if status := containerOf(pod); isReady(pod) || status == nil || status.State.Running == nil {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		events, err := w.Client.CoreV1().Events(w.Namespace).List(ctx, metav1.ListOptions{
			FieldSelector: "involvedObject.uid=" + string(pod.UID) + ",reason=Unhealthy", Limit: 10,
		})
		cancel()
		if err != nil {
			continue // it is told without
		}
		var last corev1.Event
		for _, e := range events.Items {
			if !e.LastTimestamp.Before(&last.LastTimestamp) {
				last = e
			}
		}
		out[string(pod.UID)] = last.Message
	}
	return out
}
