package target

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// Placement is a target and what there is of it.
type Placement struct {
	Target
	// Deployment is what exists, nil if there is none yet.
	Deployment *fleet.BundleDeployment
	// Offline says that the cluster is known to be silent. It is not counted as failed.
	Offline bool
}

// Step is what the rollout allows for one target now. The zero Step leaves the deployment's versions as they are.
type Step struct {
	// Create makes the deployment.
	Create bool
	// Stage writes the target's options and ID as the staged ones.
	Stage bool
	// Promote writes them as the current ones, too.
	Promote bool
	// Sync says that the current ID is the target's already: the options that are not part of it (diff, correctDrift) are
	// brought up to date.
	Sync bool
	// Wait says, for people, why the target does not go on.
	Wait string
}

// Plan is the next pass of a rollout.
type Plan struct {
	// Place has the step of every placement, by the cluster's namespace and name.
	Place map[types.NamespacedName]Step
	// Partitions are the partitions in their order, without their summaries; Members are the clusters of each.
	Partitions []fleet.PartitionStatus
	Members    [][]types.NamespacedName
	// NewlyCreated is how many deployments are made in this pass. More says that further ones may be made in the next.
	NewlyCreated int
	More         bool
	// What the status of the bundle says.
	Unavailable, MaxUnavailable                     int
	UnavailablePartitions, MaxUnavailablePartitions int
	// Wait says, for people, why the rollout does not go on; empty if it does, or is done.
	Wait string
}

// Rollout plans the next pass: which deployments are made, staged and released. An error is a limit of
// spec.rolloutStrategy that cannot be read; nothing changes until it is mended.
func Rollout(bundle *fleet.Bundle, placements []Placement) (Plan, error) {
	placements = slices.SortedFunc(slices.Values(placements), func(a, b Placement) int {
		return cmp.Or(cmp.Compare(a.Cluster.Namespace, b.Cluster.Namespace), cmp.Compare(a.Cluster.Name, b.Cluster.Name))
	})
	r, err := newRollout(bundle, placements)
	if err != nil {
		return Plan{}, err
	}
	for i := range r.partitions {
		r.advance(i)
		if r.plan.UnavailablePartitions > r.plan.MaxUnavailablePartitions {
			r.halt(i)
			break
		}
	}
	for i, placement := range placements {
		r.plan.Place[placement.Key()] = r.steps[i]
	}
	r.report()
	return r.plan, nil
}

// rollout is a pass that is being planned.
type rollout struct {
	placements []Placement
	partitions []partition
	paused     bool
	maxNew     int
	// max are the limits of the partitions.
	max   []int
	steps []Step
	// released are the targets that become unavailable in this pass.
	released []bool
	// using is how many targets are unavailable, with those.
	using int
	plan  Plan
}

func newRollout(bundle *fleet.Bundle, placements []Placement) (*rollout, error) {
	strategy := bundle.Spec.RolloutStrategy
	if strategy == nil {
		strategy = &fleet.RolloutStrategy{}
	}
	r := &rollout{
		placements: placements, paused: bundle.Spec.Paused, maxNew: defaultMaxNew,
		steps: make([]Step, len(placements)), released: make([]bool, len(placements)),
		plan: Plan{Place: make(map[types.NamespacedName]Step, len(placements))},
	}
	if strategy.MaxNew != nil {
		r.maxNew = max(*strategy.MaxNew, 0)
	}
	if err := r.readLimits(strategy); err != nil {
		return nil, err
	}
	for _, placement := range placements {
		if placement.unavailable() {
			r.plan.Unavailable++
		}
	}
	r.using = r.plan.Unavailable
	return r, nil
}

func (r *rollout) readLimits(strategy *fleet.RolloutStrategy) (err error) {
	const field = "spec.rolloutStrategy."
	if r.plan.MaxUnavailable, err = limit(len(r.placements), everything, strategy.MaxUnavailable); err != nil {
		return &fieldError{field: field + "maxUnavailable", err: err}
	}
	if r.partitions, err = partitions(strategy, r.placements); err != nil {
		return err
	}
	given := strategy.MaxUnavailablePartitions
	if r.plan.MaxUnavailablePartitions, err = limit(len(r.partitions), intstr.FromInt32(0), given); err != nil {
		return &fieldError{field: field + "maxUnavailablePartitions", err: err}
	}
	for i, p := range r.partitions {
		most, err := limit(len(p.members), everything, p.max, strategy.MaxUnavailable)
		if err != nil {
			return &fieldError{field: fmt.Sprintf("%spartitions[%d].maxUnavailable", field, i), err: err}
		}
		r.max = append(r.max, most)
	}
	return nil
}

// advance takes the targets of a partition as far as the limits allow, and counts it if it has too many that are not done.
func (r *rollout) advance(i int) {
	using := 0
	for _, m := range r.partitions[i].members {
		if r.placements[m].unavailable() || r.released[m] {
			using++
		}
	}
	for _, m := range r.partitions[i].members {
		r.step(m, i, &using)
	}
	if r.unfinished(i) > r.max[i] {
		r.plan.UnavailablePartitions++
	}
}

// step takes one target on. using is how many of its partition are unavailable.
func (r *rollout) step(m, part int, using *int) {
	placement, step := r.placements[m], &r.steps[m]
	step.Wait = ""
	switch {
	case placement.Deployment == nil && !step.Create && !r.create(m):
		return
	case placement.current() == placement.DeploymentID:
		step.Stage, step.Sync = true, true
		return
	}
	step.Stage = true
	if r.paused || placement.Cluster.Spec.Paused {
		step.Wait = "paused"
		return
	}
	if step.Promote || placement.broken() {
		// What does not work cannot become less available.
		step.Promote = true
		return
	}
	// A partition that may have none is changed one by one, and those after it wait until all of it is well: a canary.
	most := max(r.max[part], 1)
	switch {
	case r.using >= r.plan.MaxUnavailable:
		step.Wait = fmt.Sprintf("unavailable clusters: %d, of at most %d", r.using, r.plan.MaxUnavailable)
	case *using >= most:
		step.Wait = fmt.Sprintf("unavailable clusters of the partition %q: %d, of at most %d", r.partitions[part].name, *using, most)
	default:
		step.Promote = true
		if !placement.Offline {
			r.released[m] = true
			r.using++
			*using++
		}
		return
	}
	r.waits(step.Wait)
}

// create makes the deployment of a target, if it may.
func (r *rollout) create(m int) bool {
	step := &r.steps[m]
	switch {
	case r.placements[m].Cluster.Status.Namespace == "":
		step.Wait = "the cluster has no namespace yet"
		return false
	case r.plan.NewlyCreated >= r.maxNew:
		r.plan.More = r.maxNew > 0
		step.Wait = fmt.Sprintf("%d deployments are made at a time (maxNew)", r.maxNew)
		r.waits(step.Wait)
		return false
	}
	r.plan.NewlyCreated++
	step.Create = true
	return true
}

// halt says what the partitions after this one wait for.
func (r *rollout) halt(i int) {
	wait := fmt.Sprintf("the partition %q comes first; clusters of it that are not up to date and ready: %d, of at most %d",
		r.partitions[i].name, r.unfinished(i), r.max[i])
	r.waits(wait)
	for _, later := range r.partitions[i+1:] {
		for _, m := range later.members {
			if step := &r.steps[m]; !step.Stage && !step.Create {
				step.Wait = wait
			}
		}
	}
}

// waits keeps the first reason.
func (r *rollout) waits(reason string) {
	r.plan.Wait = cmp.Or(r.plan.Wait, reason)
}

// unfinished is how many targets of a partition do not run the target's version, or not well. Those of whom that cannot be
// expected are not counted: silent clusters, and those that are paused.
func (r *rollout) unfinished(i int) int {
	n := 0
	for _, m := range r.partitions[i].members {
		placement := r.placements[m]
		if placement.unavailable() || r.released[m] || !placement.Offline && !placement.Cluster.Spec.Paused && placement.behind() {
			n++
		}
	}
	return n
}

func (r *rollout) report() {
	for i, p := range r.partitions {
		r.plan.Partitions = append(r.plan.Partitions, fleet.PartitionStatus{
			Name: p.name, Count: len(p.members), MaxUnavailable: r.max[i], Unavailable: r.unfinished(i),
		})
		members := make([]types.NamespacedName, 0, len(p.members))
		for _, m := range p.members {
			members = append(members, r.placements[m].Key())
		}
		r.plan.Members = append(r.plan.Members, members)
	}
}

// current is the version that the agent is told to run.
func (p Placement) current() string {
	if p.Deployment == nil {
		return ""
	}
	return p.Deployment.Spec.DeploymentID
}

// broken says that what there is does not run, or not well.
func (p Placement) broken() bool {
	return p.Deployment == nil || p.Deployment.Status.AppliedDeploymentID != p.current() || !p.Deployment.Status.Ready
}

// unavailable says that the target counts as one that does not work.
func (p Placement) unavailable() bool {
	return p.Deployment != nil && !p.Offline && p.broken()
}

// behind says that the target's version is not the staged, the current and the applied one.
func (p Placement) behind() bool {
	if p.Deployment == nil {
		return true
	}
	want := p.DeploymentID
	return p.Deployment.Spec.StagedDeploymentID != want || p.current() != want || p.Deployment.Status.AppliedDeploymentID != want
}
