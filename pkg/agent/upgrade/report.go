package upgrade

import (
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// Report is what is to be said in status.agent.upgrade, and what the agent's bundle wants, on which that rests. One goroutine
// writes it, and whoever reports reads it.
type Report struct {
	mu     sync.Mutex
	status *fleet.AgentUpgradeStatus
	// taken is the generation that status says was taken back, wanted that of the bundle.
	taken, wanted string
	changed       chan struct{}
	wants         chan struct{}
}

// NewReport says nothing yet.
func NewReport() *Report {
	return &Report{changed: make(chan struct{}, 1), wants: make(chan struct{}, 1)}
}

// Status is what is to be said, nil for nothing.
func (r *Report) Status() *fleet.AgentUpgradeStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status.DeepCopy()
}

// Changed has a message in it after that has become something else.
func (r *Report) Changed() <-chan struct{} { return r.changed }

// Want takes note of the objects of the agent's bundle, as they were deployed last.
func (r *Report) Want(objects []*unstructured.Unstructured) {
	generation := generationIn(objects)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wanted == generation {
		return
	}
	r.wanted = generation
	wake(r.wants)
}

// IsTakenBack says whether the objects of the agent's bundle bring the agent that was taken back. Of objects that do not
// say which agent they bring it errs on that side.
func (r *Report) IsTakenBack(objects []*unstructured.Unstructured) bool {
	generation := generationIn(objects)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken != "" && (generation == "" || generation == r.taken)
}

func (r *Report) wantedNow() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wanted
}

func (r *Report) set(v verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken = v.taken
	if equality.Semantic.DeepEqual(r.status, v.report) {
		return
	}
	r.status = v.report
	wake(r.changed)
}

func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// generationIn is the GENERATION of the agent's Deployment among objects, empty where there is none.
func generationIn(objects []*unstructured.Unstructured) string {
	for _, object := range objects {
		if object.GetKind() != "Deployment" || object.GetName() != names.AgentDeployment {
			continue
		}
		var deployment appsv1.Deployment
		if runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &deployment) == nil {
			return generationOf(deployment.Spec.Template)
		}
	}
	return ""
}
