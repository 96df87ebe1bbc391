package upgrade

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// Report is what is to be said in status.agent.upgrade. One goroutine writes it, and whoever reports reads it.
type Report struct {
	mu      sync.Mutex
	status  *fleet.AgentUpgradeStatus
	changed chan struct{}
}

// NewReport says nothing yet.
func NewReport() *Report { return &Report{changed: make(chan struct{}, 1)} }

// Status is what is to be said, nil for nothing.
func (r *Report) Status() *fleet.AgentUpgradeStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status.DeepCopy()
}

// Changed has a message in it after that has become something else.
func (r *Report) Changed() <-chan struct{} { return r.changed }

func (r *Report) set(status *fleet.AgentUpgradeStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if equality.Semantic.DeepEqual(r.status, status) {
		return
	}
	r.status = status
	select {
	case r.changed <- struct{}{}:
	default:
	}
}
