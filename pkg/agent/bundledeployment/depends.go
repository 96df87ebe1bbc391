package bundledeployment

import (
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/summary"
)

// maxNamed is how many bundles a message names.
const maxNamed = 10

// dependency selects the BundleDeployments that another one waits for.
type dependency struct {
	selector labels.Selector
	accepted []fleet.BundleState
}

// dependencies are what a BundleDeployment waits for. A reference without a name and a selector selects nothing.
func dependencies(bd *fleet.BundleDeployment) ([]dependency, error) {
	var out []dependency
	for i, ref := range bd.Spec.DependsOn {
		if ref.Name == "" && ref.Selector == nil {
			continue
		}
		wanted := &metav1.LabelSelector{}
		if ref.Selector != nil {
			wanted = ref.Selector.DeepCopy()
		}
		if ref.Name != "" {
			wanted = metav1.AddLabelToSelector(wanted, fleet.BundleLabel, names.LabelValue(ref.Name))
			wanted = metav1.AddLabelToSelector(wanted, fleet.BundleNamespaceLabel, bd.Labels[fleet.BundleNamespaceLabel])
		}
		selector, err := metav1.LabelSelectorAsSelector(wanted)
		if err != nil {
			return nil, fmt.Errorf("dependsOn[%d].selector: %w", i, err)
		}
		accepted := ref.AcceptedStates
		if len(accepted) == 0 {
			accepted = []fleet.BundleState{fleet.Ready}
		}
		out = append(out, dependency{selector: selector, accepted: accepted})
	}
	return out, nil
}

// unmet says what a BundleDeployment still waits for, empty if it waits for nothing.
func unmet(bd *fleet.BundleDeployment, others []*fleet.BundleDeployment) (string, error) {
	needs, err := dependencies(bd)
	if err != nil {
		return "", err
	}
	var names []string
	for _, need := range needs {
		found := false
		for _, other := range others {
			if other.Name == bd.Name || !need.selector.Matches(labels.Set(other.Labels)) {
				continue
			}
			found = true
			if !slices.Contains(need.accepted, currentState(other)) {
				names = append(names, other.Name)
			}
		}
		if !found {
			return fmt.Sprintf("list bundledeployments: no bundles matching labels %s in namespace %s", need.selector, bd.Namespace), nil
		}
	}
	if len(names) == 0 {
		return "", nil
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) > maxNamed {
		names = append(names[:maxNamed:maxNamed], "...")
	}
	return fmt.Sprintf("dependent bundle(s) are not ready: %v", names), nil
}

// currentState is the state of what a BundleDeployment asks for now. A status that tells of something older, or of
// something that is on its way out, counts as not applied.
func currentState(bd *fleet.BundleDeployment) fleet.BundleState {
	behind := bd.DeletionTimestamp != nil || bd.Spec.WaitingForValues ||
		len(bd.Spec.Options.DownstreamResources) > 0 && bd.Status.DownstreamResourcesGeneration != bd.Spec.DownstreamResourcesGeneration
	state := summary.State(bd)
	if behind && state != fleet.ErrApplied {
		return fleet.WaitApplied
	}
	return state
}

// waiting are the BundleDeployments that wait for others.
type waiting struct {
	mu    sync.Mutex
	needs map[string][]dependency
}

func newWaiting() *waiting { return &waiting{needs: map[string][]dependency{}} }

// begin notes what a BundleDeployment waits for, before it is looked whether that is there: a change in between counts.
func (w *waiting) begin(bd *fleet.BundleDeployment) error {
	needs, err := dependencies(bd)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.needs[bd.Name] = needs
	return nil
}

// done says that a BundleDeployment waits no more.
func (w *waiting) done(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.needs, name)
}

// on are those that wait for a BundleDeployment.
func (w *waiting) on(bd *fleet.BundleDeployment) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for name, needs := range w.needs {
		if name != bd.Name && slices.ContainsFunc(needs, func(n dependency) bool { return n.selector.Matches(labels.Set(bd.Labels)) }) {
			out = append(out, name)
		}
	}
	return out
}
