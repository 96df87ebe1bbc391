package heartbeat

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/agent/hub"
	"github.com/rancher/fleet/pkg/agent/pace"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/registration"
)

const (
	// settling is how long a right that a new credential does not have yet is no trouble: the hub gives the right to report
	// while the agent takes its first steps.
	settling = 10 * time.Second
	// settlingRetry is the pause until then.
	settlingRetry = 200 * time.Millisecond
	// leavingFirst and leavingMost bound the pauses between reports while the Cluster is being deleted and waits for bundles to be
	// removed, of which the agent may have begun to know only now.
	leavingFirst, leavingMost = time.Second, 30 * time.Second
)

// report writes status.agent.
type report struct {
	session  hub.Session
	options  Options
	listener Listener
	trouble  trouble
	// since is when the first report was tried.
	since time.Time
	// settled is closed once a report went through, or failed in another way than settling.
	settled chan struct{}
	settle  sync.Once
	leaving pace.Backoff
}

// once reports; the result is the pause until the next report.
func (r *report) once(ctx context.Context) time.Duration {
	if r.since.IsZero() {
		r.since = r.options.Clock.Now()
	}
	status := fleet.AgentStatus{
		LastSeen:   metav1.NewTime(r.options.Clock.Now().UTC()),
		Namespace:  r.options.Namespace,
		Version:    registration.AgentText(r.options.Version),
		Generation: registration.AgentText(r.options.Generation),
	}
	if r.options.Upgrade != nil {
		status.Upgrade = r.options.Upgrade()
	}
	if r.options.Bundles != nil {
		status.Bundles = r.options.Bundles(ctx)
	}
	leaving, err := r.session.Report(ctx, r.session.Workspace, r.session.Cluster, status)
	if ctx.Err() != nil {
		return r.options.CheckinInterval
	}
	if hub.AnswerOf(err) == hub.Forbidden && r.options.Clock.Since(r.since) < settling {
		return pace.Jitter(settlingRetry, r.options.Random)
	}
	r.settle.Do(func() { close(r.settled) })
	if err != nil {
		if hub.AnswerOf(err) == hub.Unauthorized {
			r.listener.Refused()
		}
		return r.trouble.failed(fmt.Errorf("Cluster %s/%s: %w", r.session.Workspace, r.session.Cluster, err))
	}
	r.trouble.passed()
	r.options.Metrics.Contact(r.options.Clock.Now())
	if leaving && (status.Bundles == nil || status.Bundles.Count > 0) {
		return min(r.leaving.Next(), r.options.CheckinInterval)
	}
	return pace.Jitter(r.options.CheckinInterval, r.options.Random)
}
