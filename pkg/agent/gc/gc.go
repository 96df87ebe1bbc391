// Package gc finds what an agent deployed for bundles that the hub no longer has: those that went while the agent was not
// there to see it. It removes nothing by itself: whoever looks after the bundles is asked to look, and asks the hub.
//
// It may import pkg/helmdeployer, pkg/agent/pace and the standard library.
package gc

import (
	"context"
	"slices"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/utils/clock"

	"github.com/rancher/fleet/pkg/agent/pace"
	"github.com/rancher/fleet/pkg/helmdeployer"
)

// DefaultInterval is the time between two looks where nothing is configured.
const DefaultInterval = 15 * time.Minute

const retryFirst, retryMax = time.Second, time.Minute

// Config is what Run works with.
type Config struct {
	// List finds what is deployed.
	List func(ctx context.Context) ([]helmdeployer.Deployed, error)
	// Unknown are those bundles that the hub does not seem to have; ok is false while that is not known.
	Unknown func(names []string) (unknown []string, ok bool)
	// Look has bundles looked at. It does not block.
	Look func(names ...string)
	// Wake asks for a look now: all bundles of the hub are known, for the first time or after an interruption.
	Wake <-chan struct{}
	// Interval is the time between two looks, of which zero and less mean the default. It is asked each time.
	Interval func(ctx context.Context) time.Duration

	Clock  clock.WithTicker
	Random pace.Random
}

// Run looks whenever it is woken, and each interval plus up to as much again, until the context ends.
func Run(ctx context.Context, c Config) {
	trouble := pace.Backoff{First: retryFirst, Max: retryMax, Random: c.Random}
	for ctx.Err() == nil {
		pause := c.pause(ctx)
		if err := c.once(ctx); err != nil && ctx.Err() == nil {
			logrus.Warnf("What is deployed here cannot be listed, trying again: %v", err)
			pause = min(pause, trouble.Next())
		} else {
			trouble.Reset()
		}
		c.wait(ctx, pause)
	}
}

func (c Config) pause(ctx context.Context) time.Duration {
	interval := c.Interval(ctx)
	if interval <= 0 {
		interval = DefaultInterval
	}
	return time.Duration(float64(interval) * (1 + c.Random()))
}

func (c Config) wait(ctx context.Context, pause time.Duration) {
	timer := c.Clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-c.Wake:
	case <-timer.C():
	}
}

// once has all of those looked at that the hub does not seem to have.
func (c Config) once(ctx context.Context) error {
	if _, ok := c.Unknown(nil); !ok {
		return nil
	}
	releases, err := c.List(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, release := range releases {
		names = append(names, release.BundleID)
	}
	slices.Sort(names)
	unknown, ok := c.Unknown(slices.Compact(names))
	if ok && len(unknown) > 0 {
		logrus.Infof("%d bundles are deployed here that the hub does not seem to have: it is asked", len(unknown))
		c.Look(unknown...)
	}
	return nil
}
