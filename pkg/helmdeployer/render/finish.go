package render

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/fleet/pkg/names"
)

const (
	// HashLabel marks the objects of a set, SetAnnotation names the set.
	HashLabel     = names.ApplyPrefix + "hash"
	SetAnnotation = names.ApplyPrefix + "id"
)

// maxScopedNamed is how many objects an error about cluster-scoped ones names.
const maxScopedNamed = 5

// Scopes knows which kinds have namespaces.
type Scopes interface {
	// Namespaced says whether the objects of a kind are in namespaces. It fails for a kind that it does not know.
	Namespaced(kind schema.GroupVersionKind) (bool, error)
}

// Finish is what is done to a bundle's objects after the chart is rendered. It is a post-renderer of Helm.
type Finish struct {
	Bundle *Bundle
	// SetID is the set that the objects are marked with.
	SetID string
	// Namespace is where objects go that name none. With Force all go there, and cluster-scoped ones are refused.
	Namespace string
	Force     bool
	// DeleteCRDs leaves CustomResourceDefinitions without the policy that keeps them.
	DeleteCRDs bool
	// Scopes knows the kinds of the cluster. Those that the bundle defines itself need not be known.
	Scopes Scopes
	// Accept, where it is given, has the last word on the objects.
	Accept func([]*unstructured.Unstructured) error
}

// Run takes what the chart rendered and returns what is to be applied.
func (f *Finish) Run(rendered *bytes.Buffer) (*bytes.Buffer, error) {
	objects, err := Decode(rendered.Bytes())
	if err != nil {
		return nil, fmt.Errorf("what the chart rendered: %w", err)
	}
	objects, err = f.Objects(objects)
	if err != nil {
		return nil, err
	}
	if f.Accept != nil {
		if err := f.Accept(objects); err != nil {
			return nil, err
		}
	}
	manifest, err := Encode(objects)
	if err != nil {
		return nil, err
	}
	return bytes.NewBuffer(manifest), nil
}

// Objects completes what the chart rendered, in the order in which it is applied.
func (f *Finish) Objects(objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	var err error
	if f.Bundle.kustomize != nil {
		if objects, err = f.Bundle.kustomize.run(objects); err != nil {
			return nil, err
		}
	}
	for _, file := range f.Bundle.plain {
		more, err := Decode(file.Data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name, err)
		}
		objects = append(objects, more...)
	}
	if err := f.place(objects); err != nil {
		return nil, err
	}
	if objects, err = unique(objects); err != nil {
		return nil, err
	}
	for _, object := range objects {
		f.mark(object)
	}
	Sort(objects)
	return objects, nil
}

// place puts objects into namespaces.
func (f *Finish) place(objects []*unstructured.Unstructured) error {
	own := f.ownKinds(objects)
	var scoped []string
	for _, object := range objects {
		if object.GetName() == "" {
			return fmt.Errorf("a %.60s has no metadata.name: what is applied again and again needs one", object.GetKind())
		}
		namespaced, err := f.namespaced(own, object.GroupVersionKind())
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", describe(object), err)
		case !namespaced && f.Force:
			scoped = append(scoped, describe(object))
		case !namespaced:
			object.SetNamespace("")
		case f.Force || object.GetNamespace() == "":
			object.SetNamespace(f.Namespace)
		}
	}
	if len(scoped) == 0 {
		return nil
	}
	return &ClusterScopedError{Objects: scoped, Namespace: f.Namespace}
}

func (f *Finish) namespaced(own map[schema.GroupVersionKind]bool, kind schema.GroupVersionKind) (bool, error) {
	if namespaced, ok := own[kind]; ok {
		return namespaced, nil
	}
	return f.Scopes.Namespaced(kind)
}

// ownKinds are those that the bundle defines: its CustomResourceDefinitions may not be on the cluster yet.
func (f *Finish) ownKinds(objects []*unstructured.Unstructured) map[schema.GroupVersionKind]bool {
	own := map[schema.GroupVersionKind]bool{}
	definitions := slices.Concat(objects, ChartCRDs(f.Bundle.Chart))
	for _, object := range definitions {
		for _, kind := range Defined(object) {
			own[kind.Kind] = kind.Namespaced
		}
	}
	return own
}

// mark makes an object known as one of the bundle's.
func (f *Finish) mark(object *unstructured.Unstructured) {
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[HashLabel] = names.ObjectSetHash(f.SetID, "", "", "")
	object.SetLabels(labels)
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[SetAnnotation] = f.SetID
	if IsCRD(object) && !f.DeleteCRDs {
		annotations[kube.ResourcePolicyAnno] = kube.KeepPolicy
	}
	object.SetAnnotations(annotations)
}

// ClusterScopedError says that a bundle with a target namespace has objects that are in none.
type ClusterScopedError struct {
	Objects   []string
	Namespace string
}

func (e *ClusterScopedError) Error() string {
	shown := e.Objects
	more := ""
	if len(shown) > maxScopedNamed {
		shown, more = shown[:maxScopedNamed], fmt.Sprintf(" and %d more", len(e.Objects)-maxScopedNamed)
	}
	return fmt.Sprintf("invalid cluster scoped object [%s%s] found. A bundle with a target namespace (%s) may have none: "+
		"take it out of the bundle, or use defaultNamespace instead of namespace", strings.Join(shown, ", "), more, e.Namespace)
}

// unique leaves out what is there twice in the same form. Two forms of one object are an error.
func unique(objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	type key struct {
		schema.GroupKind
		namespace, name string
	}
	seen := map[key]*unstructured.Unstructured{}
	kept := objects[:0:0]
	for _, object := range objects {
		id := key{object.GroupVersionKind().GroupKind(), object.GetNamespace(), object.GetName()}
		first, twice := seen[id]
		switch {
		case !twice:
			seen[id] = object
			kept = append(kept, object)
		case !equality.Semantic.DeepEqual(first.Object, object.Object):
			return nil, errors.New(describe(object) + " is in the bundle twice, and differs: remove one")
		}
	}
	return kept, nil
}

// Sort puts objects in the order in which they are applied: what others need comes first.
func Sort(objects []*unstructured.Unstructured) {
	rank := make(map[string]int, len(releaseutil.InstallOrder))
	for i, kind := range releaseutil.InstallOrder {
		rank[kind] = i + 1
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int {
		first, second := rank[a.GetKind()], rank[b.GetKind()]
		switch {
		case first == 0 && second == 0:
			return strings.Compare(a.GetKind(), b.GetKind())
		case first == 0:
			return 1
		case second == 0:
			return -1
		}
		return first - second
	})
}
