package join

import (
	"context"
	"fmt"
	mathrand "math/rand/v2"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/rancher/fleet/e2e/stage"
	"github.com/rancher/fleet/pkg/agent/hub"
	"github.com/rancher/fleet/pkg/agent/pace"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/registration"
)

// beat does what a real agent does at once with a new credential: it reports its status and renews its Lease.
func (a *agent) beat(ctx context.Context, session hub.Session) error {
	err := insist(ctx, func() error {
		_, err := session.Report(ctx, session.Workspace, session.Cluster, fleet.AgentStatus{
			LastSeen: metav1.Now(), Namespace: stage.SystemNamespace, Version: userAgent,
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("report of %s: %w", a.clientID, err)
	}
	holder := registration.Holder{Instance: a.clientID, Fingerprint: session.Fingerprint, Digest: session.Digest}.String()
	err = insist(ctx, func() error {
		lease, err := session.Lease(ctx, session.DeploymentNamespace)
		if err != nil {
			return err
		}
		now, seconds := metav1.NowMicro(), int32(60)
		lease.Spec.HolderIdentity, lease.Spec.AcquireTime = &holder, &now
		lease.Spec.RenewTime, lease.Spec.LeaseDurationSeconds = &now, &seconds
		_, err = session.Renew(ctx, lease)
		return err
	})
	if err != nil {
		return fmt.Errorf("heartbeat of %s: %w", a.clientID, err)
	}
	return nil
}

// insist tries again, as a real agent does, until ctx ends.
func insist(ctx context.Context, do func() error) error {
	backoff := pace.Backoff{First: beatRetry, Max: retryMax, Random: mathrand.Float64}
	for {
		err := do()
		if err == nil {
			return nil
		}
		if waitErr := pace.Sleep(ctx, clock.RealClock{}, backoff.Next()); waitErr != nil {
			return fmt.Errorf("%w; last: %w", waitErr, err)
		}
	}
}
