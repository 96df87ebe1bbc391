package upgrade

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/rancher/fleet/pkg/names"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// on is a watcher over a cluster in memory that holds these facts.
func on(t *testing.T, f facts) (*watcher, *fake.Clientset, *clocktesting.FakeClock) {
	t.Helper()
	stored := func() cache.Store { return cache.NewStore(cache.MetaNamespaceKeyFunc) }
	s := stores{deployments: stored(), sets: stored(), pods: stored()}
	objects := []runtime.Object{f.deployment}
	require.NoError(t, s.deployments.Add(f.deployment))
	for _, each := range f.sets {
		require.NoError(t, s.sets.Add(each))
	}
	for _, each := range f.pods {
		require.NoError(t, s.pods.Add(each))
		objects = append(objects, each)
	}
	client, clk := fake.NewClientset(objects...), clocktesting.NewFakeClock(now)
	return &watcher{
		Config: Config{Client: client, Namespace: namespace, Pod: "old", Report: NewReport(), Clock: clk},
		stores: s, changed: make(chan struct{}, 1),
	}, client, clk
}

func updates(client *fake.Clientset) (n int) {
	for _, a := range client.Actions() {
		if a.GetVerb() != "get" && a.GetVerb() != "list" {
			n++
		}
	}
	return n
}

func live(t *testing.T, client *fake.Clientset) *appsv1.Deployment {
	t.Helper()
	d, err := client.AppsV1().Deployments(namespace).Get(context.Background(), names.AgentDeployment, metav1.GetOptions{})
	require.NoError(t, err)
	return d
}

func TestAPodThatCrashesAgainAndAgainIsTakenBackOnce(t *testing.T) {
	w, client, _ := on(t, upgrading(pod("new", "two", crashed(3))))
	w.look(t.Context())
	d := live(t, client)
	assert.Equal(t, template("g1"), d.Spec.Template, "without the label of its set")
	note := recordOf(d)
	assert.Equal(t, "g2", note.Generation)
	assert.Equal(t, "g1", note.To)
	assert.Contains(t, note.Message, "CrashLoop: pod new: ended 3 times")
	require.Equal(t, 1, updates(client))
	require.NotNil(t, w.Report.Status(), "the watch has not shown it")
	assert.Equal(t, "TakenBack", w.Report.Status().Reason)
	assert.True(t, w.Report.IsTakenBack(objectsWith(t, "g2")))

	// It is applied once more.
	d.Spec.Template = template("g2")
	require.NoError(t, w.stores.deployments.Update(d))
	w.look(t.Context())
	assert.Equal(t, 1, updates(client))
	assert.Equal(t, "TakenBack", w.Report.Status().Reason, "the others' upgrades stay stopped")
}

// objectsWith is the agent's bundle with a generation.
func objectsWith(t *testing.T, generation string) []*unstructured.Unstructured {
	t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: metav1.ObjectMeta{Name: names.AgentDeployment},
		Spec: appsv1.DeploymentSpec{Template: template(generation)},
	})
	require.NoError(t, err)
	other := &unstructured.Unstructured{Object: map[string]any{"kind": "ServiceAccount", "metadata": map[string]any{"name": names.AgentDeployment}}}
	return []*unstructured.Unstructured{other, {Object: fields}}
}

// The options are put back to what runs: nothing is taken back any more, and the bundle may be put right.
func TestOptionsThatArePutBackEndWhatWasTakenBack(t *testing.T) {
	w, client, _ := on(t, upgrading(pod("new", "two", crashed(3))))
	w.Report.Want(objectsWith(t, "g2"))
	w.look(t.Context())
	back := live(t, client).DeepCopy()
	back.Annotations[revisionAnnotation] = "1"
	require.NoError(t, w.stores.deployments.Update(back))
	w.look(t.Context())
	require.Equal(t, "TakenBack", w.Report.Status().Reason)
	assert.True(t, w.Report.IsTakenBack(objectsWith(t, "g2")))
	assert.True(t, w.Report.IsTakenBack(nil), "which agent they bring is not known")
	assert.False(t, w.Report.IsTakenBack(objectsWith(t, "g1")), "the bundle is put right before the next look")

	<-w.Report.Changed()
	<-w.Report.wants
	w.Report.Want(objectsWith(t, "g1"))
	require.Len(t, w.Report.wants, 1, "what is wanted is a reason to look")
	w.await(t.Context(), time.Hour)
	w.look(t.Context())
	assert.Nil(t, w.Report.Status())
	assert.Len(t, w.Report.Changed(), 1)
	assert.False(t, w.Report.IsTakenBack(nil))
	assert.Equal(t, 1, updates(client), "the note stays: that generation is not tried twice")
}

func TestAnImageThatCannotBePulledIsTakenBackAfterAWhile(t *testing.T) {
	w, client, clk := on(t, upgrading(pod("new", "two", waits("ImagePullBackOff", "not found"))))
	assert.Equal(t, takeBackPull, w.look(t.Context()))
	assert.Equal(t, "ImagePull", w.Report.Status().Reason)
	assert.Len(t, w.Report.Changed(), 1)
	assert.Zero(t, updates(client))
	clk.Step(takeBackPull)
	w.look(t.Context())
	assert.Equal(t, template("g1"), live(t, client).Spec.Template)
}

// The cache may be behind: what counts is read live.
func TestNothingIsTouchedThatIsAnotherByNow(t *testing.T) {
	for name, change := range map[string]func(*testing.T, *fake.Clientset){
		"the template": func(t *testing.T, client *fake.Clientset) {
			d := live(t, client).DeepCopy()
			d.Spec.Template = template("g3")
			require.NoError(t, client.Tracker().Update(appsv1.SchemeGroupVersion.WithResource("deployments"), d, namespace))
		},
		"its own pod": func(t *testing.T, client *fake.Clientset) {
			require.NoError(t, client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("pods"), pod("old", "one", runs), namespace))
		},
		"an answer": func(_ *testing.T, client *fake.Clientset) {
			client.PrependReactor("get", "deployments", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, errors.New("no")
			})
		},
	} {
		w, client, _ := on(t, upgrading(pod("new", "two", crashed(3))))
		change(t, client)
		assert.Equal(t, retry, w.look(t.Context()), name)
		assert.Zero(t, updates(client), name)
		assert.Equal(t, "CrashLoop", w.Report.Status().Reason, name)
	}
}

func TestTheProbesOwnWordsAreAskedFor(t *testing.T) {
	w, client, clk := on(t, upgrading(pod("new", "two", runs)))
	_, err := client.CoreV1().Events(namespace).Create(t.Context(), &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "e"}, Reason: "Unhealthy", Message: "Readiness probe failed: fleet: the hub cannot be reached: eof",
		InvolvedObject: corev1.ObjectReference{UID: "uid-new"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	assert.Equal(t, 30*time.Second, w.look(t.Context()))
	assert.Nil(t, w.Report.Status())
	clk.Step(30 * time.Second)
	w.look(t.Context())
	require.NotNil(t, w.Report.Status())
	assert.Equal(t, "HubUnreachable", w.Report.Status().Reason)
	assert.Equal(t, time.Hour, w.look(t.Context()), "nothing else is due")
}

// An agent that runs as a plain process watches nothing.
func TestAnAgentWithoutAPodEndsAtOnce(t *testing.T) {
	_, client, clk := on(t, upgrading())
	for _, name := range []string{"", "nobody"} {
		Run(t.Context(), Config{Client: client, Namespace: namespace, Pod: name, Report: NewReport(), Clock: clk})
	}
}

func TestAClusterThatDoesNotSayIsAskedAgain(t *testing.T) {
	_, client, clk := on(t, upgrading())
	fails := make(chan struct{}, 1)
	fails <- struct{}{}
	client.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		select {
		case <-fails:
			return true, nil, errors.New("no")
		default:
			return false, nil, nil
		}
	})
	known := make(chan bool, 1)
	go func() {
		known <- inCluster(t.Context(), Config{Client: client, Namespace: namespace, Pod: "old", Clock: clk})
	}()
	require.Eventually(t, clk.HasWaiters, 20*time.Second, time.Millisecond)
	clk.Step(retry)
	assert.True(t, <-known)
}
