package heartbeat

import (
	"context"
	"fmt"
	"math"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/agent/hub"
	"github.com/rancher/fleet/pkg/agent/pace"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// beat renews the Lease.
type beat struct {
	session  hub.Session
	options  Options
	listener Listener
	trouble  trouble
	renewal  trouble
	// lease is as it was last read or written, nil when it has to be read.
	lease *coordinationv1.Lease
}

// once makes one beat and looks for a renewed credential; the result is the pause until the next one.
func (b *beat) once(ctx context.Context) time.Duration {
	err := b.renew(ctx)
	if hub.AnswerOf(err) == hub.Conflict {
		// Somebody else wrote; the metadata may have changed, and a beat must leave it alone.
		err = b.renew(ctx)
	}
	if ctx.Err() != nil {
		return b.options.Interval
	}
	if err != nil {
		b.options.Metrics.HeartbeatFailed()
		if hub.AnswerOf(err) == hub.Unauthorized {
			b.listener.Refused()
		}
		err = fmt.Errorf("Lease %s/%s: %w", b.session.DeploymentNamespace, names.HeartbeatLease, err)
		pause := b.trouble.failed(err)
		if b.trouble.lasting() {
			b.listener.Failing(err)
		}
		return pause
	}
	if b.trouble.lasting() {
		b.listener.Beating()
	}
	b.trouble.passed()
	b.options.Metrics.HeartbeatSent()
	b.options.Metrics.Contact(b.options.Clock.Now())
	b.lookForRenewal(ctx)
	return pace.Jitter(b.options.Interval, b.options.Random)
}

func (b *beat) renew(ctx context.Context) error {
	if b.lease == nil {
		lease, err := b.session.Lease(ctx, b.session.DeploymentNamespace)
		if err != nil {
			return err
		}
		b.lease = lease
	}
	holder := registration.Holder{Instance: b.options.Instance, Fingerprint: b.session.Fingerprint, Digest: b.session.Digest}
	written, err := b.session.Renew(ctx, renewed(b.lease, holder.String(), b.options.Interval, b.options.Clock.Now()))
	// After a failure nobody knows what the hub holds.
	b.lease = written
	if err != nil {
		b.lease = nil
	}
	return err
}

// renewed is the Lease with a spec that says who holds it now; the metadata stays as it was read.
func renewed(lease *coordinationv1.Lease, holder string, interval time.Duration, now time.Time) *coordinationv1.Lease {
	out := lease.DeepCopy()
	stamp := metav1.NewMicroTime(now)
	seconds := int32(max(1, min(math.MaxInt32, interval/time.Second)))
	if out.Spec.HolderIdentity == nil || *out.Spec.HolderIdentity != holder {
		out.Spec.AcquireTime = &stamp
	}
	out.Spec.HolderIdentity = &holder
	out.Spec.RenewTime = &stamp
	out.Spec.LeaseDurationSeconds = &seconds
	return out
}
