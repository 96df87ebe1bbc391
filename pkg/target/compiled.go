package target

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/target/sandbox"
)

// compiled are facts whose selectors are read, and what is made of them on the way.
type compiled struct {
	bundle       *fleet.Bundle
	entries      []entry
	restrictions []criteria
	groups       map[string][]group
	// base are the bundle's options, with its values.
	base fleet.BundleDeploymentOptions
	// repository are the GitRepoRestrictions that hold.
	repository []*fleet.GitRepoRestriction
	// versions are the options of each combination of entries that some cluster matches.
	versions map[string]*version
	engine   *sandbox.Engine
	problem  *fieldError
}

// execute fills in a template. Most bundles have none, and need no engine.
func (c *compiled) execute(text string, data map[string]any) (string, error) {
	if c.engine == nil {
		c.engine = sandbox.New()
	}
	return c.engine.Execute(text, data)
}

// entry is an entry of spec.targets.
type entry struct {
	criteria
	name string
	// customizes says that it changes options, and chooses no cluster.
	customizes  bool
	doNotDeploy bool
	options     fleet.BundleDeploymentOptions
}

// group is a ClusterGroup with its selector. One whose selector cannot be read has an error, and may hold any cluster.
type group struct {
	*fleet.ClusterGroup
	selector labels.Selector
	err      error
}

func compile(facts Facts) *compiled {
	c := &compiled{
		bundle: facts.Bundle, groups: map[string][]group{}, versions: map[string]*version{},
		base: facts.Bundle.Spec.BundleDeploymentOptions,
	}
	for _, g := range facts.Groups {
		if g.Spec.Selector == nil {
			continue
		}
		read, err := selector("spec.selector", g.Spec.Selector)
		c.groups[g.Namespace] = append(c.groups[g.Namespace], group{g, read, err})
	}
	for _, groups := range c.groups {
		slices.SortFunc(groups, func(a, b group) int { return strings.Compare(a.Name, b.Name) })
	}
	if facts.Bundle.Labels[fleet.RepoLabel] != "" {
		c.repository = facts.Restrictions
	}
	c.problem = c.compileEntries()
	if c.problem == nil {
		c.problem = c.compileRestrictions()
	}
	if c.problem == nil {
		c.problem = c.addValues(facts.Values)
	}
	return c
}

// compileEntries reads spec.targets. With restrictions, as many entries at the end choose clusters; those before them only
// customize.
func (c *compiled) compileEntries() *fieldError {
	spec := c.bundle.Spec
	customizations := 0
	if len(spec.TargetRestrictions) > 0 {
		customizations = len(spec.Targets) - len(spec.TargetRestrictions)
	}
	for i, target := range spec.Targets {
		criteria, err := choice{target.ClusterName, target.ClusterGroup, target.ClusterSelector, target.ClusterGroupSelector}.compile()
		if err != nil {
			return err.below(fmt.Sprintf("spec.targets[%d]", i))
		}
		c.entries = append(c.entries, entry{
			criteria: criteria, name: nameOf(i, target), customizes: i < customizations, doNotDeploy: target.DoNotDeploy,
			options: optionsOf(target),
		})
	}
	return nil
}

func (c *compiled) compileRestrictions() *fieldError {
	for i, r := range c.bundle.Spec.TargetRestrictions {
		criteria, err := choice{r.ClusterName, r.ClusterGroup, r.ClusterSelector, r.ClusterGroupSelector}.compile()
		if err != nil {
			return err.below(fmt.Sprintf("spec.targetRestrictions[%d]", i))
		}
		c.restrictions = append(c.restrictions, criteria)
	}
	return nil
}

// nameOf is the name of an entry, or the one that stands for it.
func nameOf(i int, target fleet.BundleTarget) string {
	if target.Name != "" {
		return target.Name
	}
	return fmt.Sprintf("target%03d", i)
}

// optionsOf are the options of an entry. The labels of the namespace stand beside them in the entry.
func optionsOf(target fleet.BundleTarget) fleet.BundleDeploymentOptions {
	options := target.BundleDeploymentOptions
	options.NamespaceLabels = union(options.NamespaceLabels, target.NamespaceLabels)
	options.NamespaceAnnotations = union(options.NamespaceAnnotations, target.NamespaceAnnotations)
	return options
}

// groupsOf are the groups that the cluster is in. doubtful are those of its namespace of which nobody can say.
func (c *compiled) groupsOf(cluster *fleet.Cluster) (certain, doubtful []*fleet.ClusterGroup) {
	for _, g := range c.groups[cluster.Namespace] {
		switch {
		case g.err != nil:
			doubtful = append(doubtful, g.ClusterGroup)
		case g.selector.Matches(labels.Set(cluster.Labels)):
			certain = append(certain, g.ClusterGroup)
		}
	}
	return certain, doubtful
}

func (c *compiled) groupProblem(of *fleet.ClusterGroup) *fieldError {
	for _, g := range c.groups[of.Namespace] {
		if g.Name == of.Name && g.err != nil {
			return &fieldError{field: "ClusterGroup " + g.Namespace + "/" + g.Name, err: g.err}
		}
	}
	return nil
}
