package kube

import (
	"context"
	"fmt"
	"strings"

	"github.com/rancher/wrangler/v3/pkg/schemes"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/tools/reference"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
)

const (
	// eventBurst and eventRate bound the Events of one object and type: ten, and then one a minute.
	eventBurst = 10
	eventRate  = 1. / 60
	// eventObjects is how many objects are remembered for that, and how many namespaces.
	eventObjects = 4096
	// eventShare is what one namespace may have of the Events of a type.
	eventShare = 0.5
)

// EventOptions say how many Events a process writes at most.
type EventOptions struct {
	// Component names the process in its Events.
	Component string
	// PerSecond and Burst bound the Events of each type, so that much that is normal leaves room for a warning.
	PerSecond float32
	Burst     int
	// Dropped, if set, is told the type of each Event that was left out.
	Dropped func(eventType string)
	// Clock is the real one unless a test says otherwise.
	Clock clock.PassiveClock
}

// NewRecorder records Events without making the caller wait, and writes them in the background until ctx ends. What is
// beyond its bounds is left out. An object that never rests meets its own bound before it uses up that of all, and so does
// a namespace: whoever fills one with what is warned of hides no warning about another.
func NewRecorder(ctx context.Context, clients kubernetes.Interface, o EventOptions) record.EventRecorder {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx),
		record.WithCorrelatorOptions(record.CorrelatorOptions{BurstSize: eventBurst, QPS: eventRate}))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: clients.CoreV1().Events("")})
	r := &recorder{
		EventRecorder: broadcaster.NewRecorder(schemes.All, corev1.EventSource{Component: o.Component}),
		objects:       record.NewEventSourceObjectSpamFilter(eventObjects, eventBurst, eventRate, o.Clock, objectAndType),
		namespaces: record.NewEventSourceObjectSpamFilter(eventObjects,
			max(1, int(eventShare*float32(o.Burst))), eventShare*o.PerSecond, o.Clock, namespaceAndType),
		types:   map[string]flowcontrol.PassiveRateLimiter{},
		dropped: o.Dropped,
	}
	for _, eventType := range []string{corev1.EventTypeNormal, corev1.EventTypeWarning} {
		r.types[eventType] = flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(o.PerSecond, o.Burst, o.Clock)
	}
	return r
}

type recorder struct {
	record.EventRecorder
	objects    *record.EventSourceObjectSpamFilter
	namespaces *record.EventSourceObjectSpamFilter
	types      map[string]flowcontrol.PassiveRateLimiter
	dropped    func(eventType string)
}

// Event records an Event about an object, or about what an ObjectReference names.
func (r *recorder) Event(about runtime.Object, eventType, reason, message string) {
	if r.admits(about, eventType) {
		r.EventRecorder.Event(about, eventType, reason, message)
	}
}

// Eventf is Event with a message that is put together.
func (r *recorder) Eventf(about runtime.Object, eventType, reason, format string, args ...any) {
	r.Event(about, eventType, reason, fmt.Sprintf(format, args...))
}

// AnnotatedEventf is Eventf with annotations.
func (r *recorder) AnnotatedEventf(about runtime.Object, annotations map[string]string, eventType, reason, format string, args ...any) {
	if r.admits(about, eventType) {
		r.EventRecorder.AnnotatedEventf(about, annotations, eventType, reason, format, args...)
	}
}

func (r *recorder) admits(about runtime.Object, eventType string) bool {
	limit, known := r.types[eventType]
	ref, err := reference.GetReference(schemes.All, about)
	if !known || err != nil {
		return true // it is refused, and says why, where it is made
	}
	event := &corev1.Event{InvolvedObject: *ref, Type: eventType}
	if !r.objects.Filter(event) && !r.namespaces.Filter(event) && limit.TryAccept() {
		return true
	}
	if r.dropped != nil {
		r.dropped(eventType)
	}
	return false
}

func objectAndType(e *corev1.Event) string {
	about := e.InvolvedObject
	return strings.Join([]string{about.APIVersion, about.Kind, about.Namespace, about.Name, string(about.UID), e.Type}, "|")
}

func namespaceAndType(e *corev1.Event) string {
	return e.InvolvedObject.Namespace + "|" + e.Type
}
