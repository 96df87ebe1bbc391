package cleanup

import (
	"errors"
	"testing"

	"github.com/rancher/wrangler/v3/pkg/generic"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// brokenCache is a source whose cache answers with an error; it counts who goes on to the API server.
type brokenCache struct {
	generic.CacheInterface[*fleet.Cluster]
	fault error
	asked int
}

func (b *brokenCache) Cache() generic.CacheInterface[*fleet.Cluster] {
	return failing{b.CacheInterface, b.fault}
}

func (b *brokenCache) Get(string, string, metav1.GetOptions) (*fleet.Cluster, error) {
	b.asked++
	return nil, nil
}

type failing struct {
	generic.CacheInterface[*fleet.Cluster]
	fault error
}

func (f failing) Get(string, string) (*fleet.Cluster, error) { return nil, f.fault }

// A cache that fails has not said that an owner is missing: nothing goes, and the error comes back with the owner's name.
func TestACacheThatFailsProvesNothing(t *testing.T) {
	from := &brokenCache{fault: errors.New("the cache is broken")}
	ref := names.OwnerRef{Kind: kindCluster, Namespace: workspace, Name: "c", UID: "1"}
	gone, err := isGone(from, ref)
	assert.False(t, gone)
	require.ErrorIs(t, err, from.fault)
	assert.ErrorContains(t, err, ref.String())
	assert.Zero(t, from.asked)
}
