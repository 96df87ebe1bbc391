package ready

import (
	"context"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/utils/clock"

	"github.com/rancher/fleet/pkg/agent/pace"
	"github.com/rancher/fleet/pkg/agent/register"
)

// HubUnreachable begins what a pod says that waits for an answer of the hub.
const HubUnreachable = "the hub cannot be reached"

// The pauses between two tries.
const (
	firstRetry   = time.Second
	longestRetry = 30 * time.Second
)

// Config is what a wait works with.
type Config struct {
	Latch *Latch
	// Ask tries the stored credential and says what became of it.
	Ask    func(ctx context.Context) (register.CredentialState, error)
	Clock  clock.Clock
	Random pace.Random
}

// Await sets the latch as soon as that may be. It returns then, or when the context ends.
func Await(ctx context.Context, c Config) {
	backoff := pace.Backoff{First: firstRetry, Max: longestRetry, Random: c.Random}
	told := ""
	for ctx.Err() == nil && !c.Latch.IsSet() {
		state, err := c.Ask(ctx)
		if ctx.Err() != nil {
			return
		}
		ready, why := verdict(state, err)
		if ready {
			if err = c.Latch.Set(); err == nil {
				logrus.Infof("This pod is ready: %s", why)
				return
			}
			why = err.Error()
		} else if err := c.Latch.Waits(why); err != nil {
			why = fmt.Sprintf("%s (%v)", why, err)
		}
		if why != told {
			logrus.Warnf("This pod is not ready yet: %s", why)
			told = why
		}
		if pace.Sleep(ctx, c.Clock, backoff.Next()) != nil {
			return
		}
	}
}

// verdict says whether a pod may take over, and why.
func verdict(state register.CredentialState, err error) (ready bool, why string) {
	switch state {
	case register.CredentialWorks:
		return true, "the hub takes the stored credential"
	case register.CredentialRefused:
		// The old pod can do no more with it than this one, which may be what brings another credential.
		return true, "the hub refuses the stored credential"
	case register.CredentialAbsent:
		return true, "there is no stored credential yet"
	case register.CredentialUnreachable:
		return false, fmt.Sprintf("%s: %v", HubUnreachable, err)
	case register.CredentialUnusable:
		return false, fmt.Sprintf("the stored credential cannot be used: %v", err)
	}
	return false, fmt.Sprintf("the agent's own cluster does not say what is stored: %v", err)
}
