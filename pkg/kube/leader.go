package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// ErrLeadershipLost says that the lease could not be renewed in time. Another process may lead already; this one ends.
var ErrLeadershipLost = errors.New("leadership lost")

// Lead waits until this process holds the lease and then runs run, whose context ends when ctx does or the lease is lost.
// It returns only after run has: nil when ctx was cancelled, ErrLeadershipLost when the lease was lost, else what run
// returned. The lease is given up after run has returned, never before. That does not keep two processes from working at
// once: lasso's workers are not waited for and may be inside a handler at that moment, and a process that lost the lease
// learns of it late. The process must therefore end right after, and what it writes must be guarded, by resourceVersion
// or by UID, so that a write on an old view fails instead of undoing the next leader's.
func Lead(ctx context.Context, clients kubernetes.Interface, e Election, run func(ctx context.Context) error) error {
	elected := make(chan struct{})
	elector, err := newElector(clients, e, elected)
	if err != nil {
		return err
	}
	// The election outlives ctx until run has ended, and keeps the lease renewed so long.
	electCtx, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		elector.Run(electCtx)
	}()

	select {
	case <-elected:
		err = runWhile(ctx, ended, run)
	case <-ctx.Done():
	case <-ended:
	}
	lost := isClosed(ended)
	release()
	<-ended
	return outcome(ctx, e, lost, err)
}

// runWhile runs run until it returns; its context ends with ctx or with the election.
func runWhile(ctx context.Context, ended <-chan struct{}, run func(ctx context.Context) error) error {
	runCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-ended:
			cancel()
		case <-runCtx.Done():
		}
	}()
	return run(runCtx)
}

func outcome(ctx context.Context, e Election, lost bool, err error) error {
	switch {
	case lost:
		return fmt.Errorf("lease %s/%s: %w", e.Namespace, e.Name, ErrLeadershipLost)
	case ctx.Err() != nil:
		if err != nil && !errors.Is(err, context.Canceled) {
			logrus.Infof("Ended while stopping: %v", err)
		}
		return nil
	}
	return err
}

func newElector(clients kubernetes.Interface, e Election, elected chan<- struct{}) (*leaderelection.LeaderElector, error) {
	if e.Namespace == "" || e.Name == "" || e.Identity == "" {
		return nil, errors.New("leader election needs a namespace, a lease name and an identity")
	}
	lock := &boundedLock{
		Interface: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name},
			Client:     clients.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: e.Identity},
		},
		after: e.RenewDeadline / 2,
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            lock,
		LeaseDuration:   e.LeaseDuration,
		RenewDeadline:   e.RenewDeadline,
		RetryPeriod:     e.RetryPeriod,
		ReleaseOnCancel: true,
		Name:            e.Name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(elected) },
			OnStoppedLeading: func() {},
			OnNewLeader: func(identity string) {
				logrus.WithFields(logrus.Fields{"lease": e.Namespace + "/" + e.Name, "holder": identity}).Info("Leader observed")
			},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("leader election on lease %s/%s: %w", e.Namespace, e.Name, err)
	}
	return elector, nil
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// boundedLock ends a call that hangs while there is time left for another try before the renew deadline.
type boundedLock struct {
	resourcelock.Interface
	after time.Duration
}

func (l *boundedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, l.after)
	defer cancel()
	return l.Interface.Get(ctx)
}

func (l *boundedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	ctx, cancel := context.WithTimeout(ctx, l.after)
	defer cancel()
	return l.Interface.Create(ctx, record)
}

func (l *boundedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	ctx, cancel := context.WithTimeout(ctx, l.after)
	defer cancel()
	return l.Interface.Update(ctx, record)
}
