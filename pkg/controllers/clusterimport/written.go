package clusterimport

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// written remembers, for each cluster, the version of the Cluster that this controller wrote last. A decision on an older
// one, which the cache may still show, would import a second time.
type written struct {
	mu       sync.Mutex
	versions map[string]string
}

func (w *written) note(key string, cluster *fleet.Cluster) {
	if cluster == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.versions[key] = cluster.ResourceVersion
}

// ahead says that the cache has yet to show what was written.
func (w *written) ahead(key string, cached *fleet.Cluster) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	mine, ok := w.versions[key]
	if !ok {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(cached.ResourceVersion, mine)
	if err == nil && order < 0 {
		return true
	}
	delete(w.versions, key)
	return false
}

func (w *written) forget(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.versions, key)
}
