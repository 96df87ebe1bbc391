package cluster

import (
	"fmt"
	"regexp"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/rancher/fleet/pkg/helmdeployer/render"
)

// Create makes objects: definitions first, then the rest.
func (c *Client) Create(resources kube.ResourceList) (*kube.Result, error) {
	definitions := resources.Filter(isDefinition)
	if len(definitions) == 0 {
		return c.create(resources)
	}
	if _, err := c.create(definitions); err != nil {
		return nil, err
	}
	if err := c.established(definitions); err != nil {
		return nil, err
	}
	if _, err := c.create(resources.Difference(definitions)); err != nil {
		return nil, err
	}
	return &kube.Result{Created: resources}, nil
}

func (c *Client) create(resources kube.ResourceList) (*kube.Result, error) {
	if err := c.ctx.Err(); err != nil {
		return nil, err
	}
	if len(resources) == 0 {
		return &kube.Result{}, nil
	}
	return c.Client.Create(resources)
}

// Update makes what is on the cluster what target says, on the basis of original. It always merges three ways: without the
// live object a change by somebody else to a custom resource would stay.
func (c *Client) Update(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	return c.UpdateThreeWayMerge(original, target, force)
}

// UpdateThreeWayMerge applies definitions first, then the rest, and removes what is no longer wanted last.
func (c *Client) UpdateThreeWayMerge(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	total := &kube.Result{}
	force = force || c.Recreate
	if c.Settle {
		if err := c.settle(target); err != nil {
			return total, err
		}
	}
	definitions := target.Filter(isDefinition)
	if len(definitions) > 0 {
		if err := c.apply(total, c.basis(original, definitions), definitions, force); err != nil {
			return total, err
		}
		if err := c.established(definitions); err != nil {
			return total, err
		}
	}
	rest := target.Difference(definitions)
	if c.RecreateClasses {
		classes := rest.Filter(isPriorityClass)
		if err := c.apply(total, c.basis(original, classes), classes, true); err != nil {
			return total, err
		}
		rest = rest.Difference(classes)
	}
	if err := c.apply(total, c.basis(original, rest), rest, force); err != nil {
		return total, err
	}
	return total, c.prune(total, original, target)
}

// apply creates and patches; nothing is removed.
func (c *Client) apply(total *kube.Result, original, target kube.ResourceList, force bool) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if len(target) == 0 {
		return nil
	}
	if !force {
		result, err := c.Client.UpdateThreeWayMerge(original, target, false)
		add(total, result)
		return err
	}
	for _, info := range target {
		one := kube.ResourceList{info}
		result, err := c.Client.UpdateThreeWayMerge(original.Intersect(one), one, false)
		if err != nil && isUnchangeable(err) {
			err = c.replace(info, err)
		}
		add(total, result)
		if err != nil {
			return err
		}
	}
	return nil
}

func add(total, result *kube.Result) {
	if result == nil {
		return
	}
	total.Created = append(total.Created, result.Created...)
	total.Updated = append(total.Updated, result.Updated...)
	total.Deleted = append(total.Deleted, result.Deleted...)
}

// unchangeable are the answers of API servers to a change of what cannot be changed.
var unchangeable = regexp.MustCompile(`(?i)immutable|Forbidden: updates to|may not change once set|may not be changed`)

func isUnchangeable(err error) bool { return unchangeable.MatchString(err.Error()) }

// irreplaceable are kinds whose removal takes more with it than the object.
var irreplaceable = map[schema.GroupKind]bool{
	{Kind: "Namespace"}:             true,
	{Kind: "PersistentVolume"}:      true,
	{Kind: "PersistentVolumeClaim"}: true,
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: true,
}

// replace removes an object that cannot be changed and makes it again.
func (c *Client) replace(info *resource.Info, because error) error {
	kind := info.Mapping.GroupVersionKind.GroupKind()
	if irreplaceable[kind] {
		return fmt.Errorf("%s %q is not removed and made again, although force is set, because what it holds would be lost: %w", kind.Kind, info.Name, because)
	}
	// Reading the live object overwrites what an info holds: this one is for that.
	live := *info
	if _, errs := c.Client.Delete(kube.ResourceList{&live}); len(errs) > 0 {
		return fmt.Errorf("removing %s %q to make it again: %w", kind.Kind, info.Name, errs[0])
	}
	if err := c.WaitForDelete(kube.ResourceList{&live}, goneTimeout); err != nil {
		return fmt.Errorf("removing %s %q to make it again: %w", kind.Kind, info.Name, err)
	}
	_, err := c.create(kube.ResourceList{info})
	return err
}

func isPriorityClass(info *resource.Info) bool {
	kind := info.Mapping.GroupVersionKind
	return kind.Group == "scheduling.k8s.io" && kind.Kind == "PriorityClass"
}

func isDefinition(info *resource.Info) bool {
	object, ok := info.Object.(*unstructured.Unstructured)
	return ok && render.IsCRD(object)
}
