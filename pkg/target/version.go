package target

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/target/sandbox"

	"sigs.k8s.io/yaml"
)

// version is the options of one combination of entries, before a cluster's own part. Most bundles have one or a few for all
// of their clusters, which then share it.
type version struct {
	options fleet.BundleDeploymentOptions
	// references and templates say that the values have such, and are made for each cluster.
	references, templates bool
	// text is the YAML of values with templates.
	text string
	// id is the deployment ID where all clusters have the same.
	id  string
	err *fieldError
}

// version makes the options of the entries that a decision uses, once.
func (c *compiled) version(d decision, manifestID string) *version {
	name := fmt.Sprint(d.uses)
	if v, ok := c.versions[name]; ok {
		return v
	}
	v := &version{options: c.merged(d)}
	v.err = v.inspect()
	if v.err == nil && !v.ofCluster() {
		id, err := DeploymentID(manifestID, v.options)
		if err != nil {
			v.err = &fieldError{field: "spec", err: bounded(err)}
		}
		v.id = id
	}
	c.versions[name] = v
	return v
}

func (v *version) ofCluster() bool { return v.references || v.templates }

func (c *compiled) merged(d decision) fleet.BundleDeploymentOptions {
	custom := c.entries[d.uses[0]].options
	for _, i := range d.uses[1:] {
		custom = Merge(custom, c.entries[i].options)
	}
	options := Merge(c.base, custom)
	if options.Helm == nil {
		// Part of the wire: an empty object makes another digest than none.
		options.Helm = &fleet.HelmOptions{}
	}
	if allowed := allowedNamespaces(c.repository); allowed != nil {
		options.AllowedTargetNamespaceSelector = allowed
	}
	return options
}

// inspect finds out whether the values depend on the cluster.
func (v *version) inspect() *fieldError {
	helm := v.options.Helm
	if !helm.DisablePreProcess && len(helm.TemplateValues) > 0 {
		v.templates = true
	}
	if helm.Values == nil {
		return nil
	}
	if depth(helm.Values.Data) > sandbox.MaxDepth {
		return &fieldError{field: valuesField, err: fmt.Errorf("the values are nested more than %d deep", sandbox.MaxDepth)}
	}
	texts := texts{}
	texts.look(helm.Values.Data)
	v.references = texts.reference
	if !helm.DisablePreProcess && texts.template {
		v.templates = true
		text, err := yaml.Marshal(helm.Values.Data)
		if err != nil {
			return &fieldError{field: valuesField, err: bounded(err)}
		}
		v.text = string(text)
	}
	return nil
}

// texts says what the texts of values have in them.
type texts struct{ reference, template bool }

func (t *texts) look(value any) {
	switch value := value.(type) {
	case string:
		t.reference = t.reference || strings.HasPrefix(value, labelReference)
		t.template = t.template || sandbox.HasActions(value)
	case map[string]any:
		for name, element := range value {
			t.template = t.template || sandbox.HasActions(name)
			t.look(element)
		}
	case []any:
		for _, element := range value {
			t.look(element)
		}
	}
}

// allowedNamespaces puts the selectors of all restrictions together: a namespace has to be allowed by each of them.
func allowedNamespaces(restrictions []*fleet.GitRepoRestriction) *metav1.LabelSelector {
	var all *metav1.LabelSelector
	for _, r := range slices.SortedFunc(slices.Values(restrictions), func(a, b *fleet.GitRepoRestriction) int { return strings.Compare(a.Name, b.Name) }) {
		if r.AllowedTargetNamespaceSelector == nil {
			continue
		}
		if all == nil {
			all = &metav1.LabelSelector{}
		}
		one := r.AllowedTargetNamespaceSelector.DeepCopy()
		if len(one.MatchLabels) > 0 && all.MatchLabels == nil {
			all.MatchLabels = map[string]string{}
		}
		maps.Copy(all.MatchLabels, one.MatchLabels)
		all.MatchExpressions = append(all.MatchExpressions, one.MatchExpressions...)
	}
	return all
}
