package kube

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
)

// tellers records Events on a clock that stands.
type tellers struct {
	record.EventRecorder
	clients *fake.Clientset
	clock   *clocktesting.FakePassiveClock

	mu      sync.Mutex
	dropped map[string]int
}

func newTellers(t *testing.T, perSecond float32, burst int) *tellers {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	r := &tellers{clients: fake.NewClientset(), clock: clocktesting.NewFakePassiveClock(time.Unix(1000, 0)), dropped: map[string]int{}}
	r.EventRecorder = NewRecorder(ctx, r.clients, EventOptions{
		Component: "test", PerSecond: perSecond, Burst: burst, Clock: r.clock,
		Dropped: func(eventType string) { r.mu.Lock(); r.dropped[eventType]++; r.mu.Unlock() },
	})
	return r
}

func (r *tellers) written(t *testing.T) []corev1.Event {
	t.Helper()
	list, err := r.clients.CoreV1().Events("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	return list.Items
}

func (r *tellers) becomes(t *testing.T, want int) {
	t.Helper()
	require.Eventually(t, func() bool { return len(r.written(t)) == want }, deadlineFor, time.Millisecond, "%d Events", want)
}

func numbered(i int) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: "ns", Name: fmt.Sprintf("s-%d", i)}
}

// elsewhere is in a namespace of its own.
func elsewhere(i int) *corev1.ObjectReference {
	ref := numbered(i)
	ref.Namespace = fmt.Sprintf("ns-%d", i)
	return ref
}

func TestEventsAreWrittenAboutTheirObject(t *testing.T) {
	r := newTellers(t, 1, 10)
	r.Eventf(numbered(1), corev1.EventTypeWarning, "Reason", "message %d", 1)
	r.AnnotatedEventf(numbered(2), map[string]string{"key": "value"}, corev1.EventTypeNormal, "Reason", "message %d", 2)
	r.Event(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s-3"}}, corev1.EventTypeNormal, "Reason", "message")
	r.becomes(t, 3)
	first := r.written(t)[0]
	for _, e := range r.written(t) {
		if e.InvolvedObject.Name == "s-1" {
			first = e
		}
	}
	assert.Equal(t, "message 1", first.Message)
	assert.Equal(t, "test", first.Source.Component)
	assert.Equal(t, corev1.EventTypeWarning, first.Type)
	assert.Equal(t, "ns", first.Namespace)
}

func TestTooManyEventsAreLeftOutAndEachTypeHasItsShare(t *testing.T) {
	r := newTellers(t, 2, 20)
	for i := range 1000 {
		r.Event(elsewhere(i), corev1.EventTypeNormal, "Reason", "message")
	}
	r.becomes(t, 20)
	r.Event(numbered(0), corev1.EventTypeWarning, "Reason", "message")
	r.becomes(t, 21)
	r.clock.SetTime(r.clock.Now().Add(3 * time.Second))
	for i := range 1000 {
		r.Event(elsewhere(i), corev1.EventTypeNormal, "Another", "message")
	}
	r.becomes(t, 27)
	r.mu.Lock()
	defer r.mu.Unlock()
	assert.Equal(t, map[string]int{corev1.EventTypeNormal: 2000 - 26}, r.dropped)
}

func TestOneObjectDoesNotUseUpWhatAllHave(t *testing.T) {
	r := newTellers(t, 1, 20)
	for i := range 1000 {
		r.Event(numbered(0), corev1.EventTypeWarning, fmt.Sprintf("Reason%d", i), "message")
	}
	r.becomes(t, eventBurst)
	for i := range 1000 {
		r.Event(elsewhere(i), corev1.EventTypeWarning, "Reason", "message")
	}
	r.becomes(t, 20)
}

// Whoever fills a namespace with what is warned of hides no warning about another.
func TestOneNamespaceDoesNotUseUpWhatAllHave(t *testing.T) {
	r := newTellers(t, 1, 20)
	for i := range 1000 {
		r.Event(numbered(i), corev1.EventTypeWarning, "Reason", "message")
	}
	r.becomes(t, 10)
	for i := range 1000 {
		r.Event(elsewhere(i), corev1.EventTypeWarning, "Reason", "message")
	}
	r.becomes(t, 20)
}

// What is said again raises a count.
func TestTheSameEventIsWrittenOnce(t *testing.T) {
	r := newTellers(t, 1, 20)
	for range 3 {
		r.Event(numbered(0), corev1.EventTypeWarning, "Reason", "message")
	}
	require.Eventually(t, func() bool { all := r.written(t); return len(all) == 1 && all[0].Count == 3 }, deadlineFor, time.Millisecond)
}

// An API server that hangs holds nobody up, and what waits for it is bounded.
func TestNobodyWaitsForAnEvent(t *testing.T) {
	r := newTellers(t, 1, 2_000_000)
	hang := make(chan struct{})
	var once sync.Once
	t.Cleanup(func() { once.Do(func() { close(hang) }) })
	r.clients.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
		<-hang
		return false, nil, nil
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 5000 {
			r.Event(numbered(i), corev1.EventTypeWarning, "Reason", "message")
		}
	}()
	receive(t, done, "5000 Events that nobody takes")
	once.Do(func() { close(hang) })
}
