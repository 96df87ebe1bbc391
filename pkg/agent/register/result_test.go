package register

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rancher/fleet/pkg/agent/metrics"
	"github.com/rancher/fleet/pkg/registration"
)

func TestAnAttemptIsCountedByHowItEnded(t *testing.T) {
	for err, want := range map[error]metrics.Result{
		nil:                      metrics.Registered,
		errTokenRefused:          metrics.TokenRefused,
		errRequestGone:           metrics.RequestGone,
		errNeverGranted:          metrics.NeverGranted,
		errUnanswered:            metrics.Unanswered,
		registration.ErrNotForUs: metrics.NotForUs,
		errors.New("no"):         metrics.Failed,
	} {
		if err != nil {
			err = fmt.Errorf("request r: %w", err)
		}
		assert.Equal(t, want, resultOf(err), err)
	}
}
