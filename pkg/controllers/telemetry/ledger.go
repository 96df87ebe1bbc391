package telemetry

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"

	"github.com/rancher/fleet/pkg/kube"
)

const (
	ledgerName = "fleet-approvals"
	// ledgerRate and ledgerBurst bound how many are written at a time, maxWaiting how many wait: whoever may decide on
	// requests must not fill the memory. docs/events.md says what that leaves out.
	ledgerRate  = 10
	ledgerBurst = 50
	maxWaiting  = 1000
	// ledgerFirst and ledgerLast are the delays after a failure, maxTries how often it is tried: for about half an hour.
	ledgerFirst = 500 * time.Millisecond
	ledgerLast  = 2 * time.Minute
	maxTries    = 24
	// maxLooks is how often a subject is looked for that the cache does not have: for about 15 seconds.
	maxLooks = 6
)

// ledger writes the Events that are not left out for their number, within wide bounds, and not repeated. Each has a name that follows from what it says, so
// that to write it twice is no harm. It stands beside the recorder, which gives random names and leaves out what is too
// much: a decision of a person is rare, and to be found in a storm as well.
type ledger struct {
	clients   kubernetes.Interface
	component string
	clock     clock.PassiveClock
	// find completes a subject, and says whether it was found.
	find    func(subject) (subject, bool)
	dropped func(eventType string)

	limit flowcontrol.RateLimiter
	queue *kube.Queue

	mu      sync.Mutex
	waiting map[string]*entry
}

// entry is an Event that waits to be written.
type entry struct {
	event
	tries int
}

func newLedger(clients kubernetes.Interface, component string, c clock.PassiveClock, find func(subject) (subject, bool), dropped func(string)) *ledger {
	l := &ledger{
		clients: clients, component: component, clock: c, find: find, dropped: dropped,
		limit: flowcontrol.NewTokenBucketRateLimiter(ledgerRate, ledgerBurst), waiting: map[string]*entry{},
	}
	l.queue = kube.NewQueue(ledgerName, 1, ledgerFirst, ledgerLast, l.work)
	return l
}

// add has an Event written. It does not block.
func (l *ledger) add(e event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, there := l.waiting[e.name]; there {
		return
	}
	if len(l.waiting) >= maxWaiting {
		l.dropped(e.eventType)
		return
	}
	l.waiting[e.name] = &entry{event: e}
	l.queue.Add(e.name)
}

// work is one try to write an Event. An error brings it back.
func (l *ledger) work(ctx context.Context, name string) error {
	e := l.next(name)
	if e == nil {
		return nil
	}
	if err := l.limit.Wait(ctx); err != nil {
		return nil // the hub stops
	}
	about, found := e.about, true
	if about.uid == "" {
		about, found = l.find(about)
	}
	var err error
	switch {
	case found:
		err = l.write(ctx, e.event, about)
	case e.tries < maxLooks:
		err = fmt.Errorf("%s %s/%s is not in the cache yet", about.kind, about.namespace, about.name)
	}
	if err != nil && e.tries < maxTries {
		return err
	}
	if err != nil {
		l.dropped(e.eventType)
		logrus.WithField("event", e.reason).Warnf("An Event about %s %s/%s was given up: %v", about.kind, about.namespace, about.name, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiting, name)
	return nil
}

func (l *ledger) next(name string) *entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.waiting[name]
	if e != nil {
		e.tries++
	}
	return e
}

// write creates the Event. That it exists, or that its namespace goes, is the end of it as well.
func (l *ledger) write(ctx context.Context, e event, about subject) error {
	now := metav1.NewTime(l.clock.Now())
	_, err := l.clients.CoreV1().Events(about.namespace).Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: about.namespace, Name: e.name},
		InvolvedObject: *about.reference(),
		Type:           e.eventType, Reason: e.reason, Message: e.message,
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source: corev1.EventSource{Component: l.component}, ReportingController: l.component,
	}, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil
	case err != nil:
		return fmt.Errorf("writing Event %s of %s %s/%s: %w", e.reason, about.kind, about.namespace, about.name, err)
	}
	return nil
}
