package clusterregistration

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
)

// births are the versions at which requests were first seen, which nobody had answered then: times have whole seconds, and an
// agent may register twice in one.
type births struct{ by sync.Map }

type birth struct {
	uid     types.UID
	version string
}

func (b *births) note(r *fleet.ClusterRegistration) {
	if r.Status.Granted || answered(r) {
		return // a hub before this one saw it first
	}
	key := refusalKey(r)
	if known, ok := b.by.Load(key); !ok || known.(birth).uid != r.UID {
		b.by.Store(key, birth{r.UID, r.ResourceVersion})
	}
}

func (b *births) forget(key string) { b.by.Delete(key) }

func (b *births) of(r *fleet.ClusterRegistration) string {
	known, ok := b.by.Load(refusalKey(r))
	if !ok || known.(birth).uid != r.UID {
		return ""
	}
	return known.(birth).version
}

// older says for certain whether a was made before b, which is in use. Of two requests of one second whose order this hub did
// not see, one that nobody uses may be the newer one, whose agent is about to: it stays, and goes when its time is over.
func (b *births) older(a, than *fleet.ClusterRegistration) bool {
	if !a.CreationTimestamp.Equal(&than.CreationTimestamp) {
		return a.CreationTimestamp.Before(&than.CreationTimestamp)
	}
	if first, second := b.of(a), b.of(than); first != "" && second != "" {
		order, err := resourceversion.CompareResourceVersion(first, second)
		return err == nil && order < 0
	}
	if !isUsed(a) {
		return false
	}
	// Conditions keep times that sort as they are.
	if was, is := usedAt(a), usedAt(than); was != is {
		return was < is
	}
	return a.Name < than.Name
}

func usedAt(r *fleet.ClusterRegistration) string {
	used := conditions.GetCondition(r.Status.Conditions, fleet.RegistrationConditionCredentialUsed)
	if used == nil {
		return ""
	}
	return used.LastTransitionTime
}
