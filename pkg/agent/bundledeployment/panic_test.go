package bundledeployment

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/pkg/helmdeployer"
)

// panics is a deployer that one bundle makes panic.
type panics struct{ *deployer }

func (p *panics) Deploy(ctx context.Context, job helmdeployer.Job) (helmdeployer.Release, error) {
	if job.Name == "bad" {
		panic("a surprise in Helm")
	}
	return p.deployer.Deploy(ctx, job)
}

func TestAPanicOfOneBundleDoesNotEndTheAgent(t *testing.T) {
	w := newWorld(t)
	w.Reconciler.Deployer = &panics{w.deployer}
	w.run()
	w.attach(token)
	w.put("bad")
	w.put("good")
	w.isDeployed("good")
}

func TestWhatIsToldOfAPanicIsBoundedAndNamesTheBundle(t *testing.T) {
	err := safely(t.Context(), "bad", func(context.Context) error { panic("line\n" + strings.Repeat("x", 10_000)) })
	require.ErrorContains(t, err, "bundle bad: ")
	require.ErrorContains(t, err, "line x")
	assert.Less(t, len(err.Error()), 400)
}
