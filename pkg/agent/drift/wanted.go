package drift

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

const (
	// HashLabel is on every object of a bundle; its value tells the bundles apart.
	HashLabel = names.ApplyPrefix + "hash"
	// pruneLabel with the value false keeps an object from being reported as extra.
	pruneLabel = names.ApplyPrefix + "prune"
	// keepAnnotation with keepValue lets Helm leave an object when it is no longer in the release.
	keepAnnotation = "helm.sh/resource-policy"
	keepValue      = "keep"
)

// Key names an object, whatever the version of its kind.
type Key struct{ Group, Kind, Namespace, Name string }

// Compare orders keys.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Group, other.Group), cmp.Compare(k.Kind, other.Kind),
		cmp.Compare(k.Namespace, other.Namespace), cmp.Compare(k.Name, other.Name))
}

// Wanted is what a bundle set on the cluster, and how that is compared.
type Wanted struct {
	// Release names the revision, whose objects never change. What was found is remembered only if it is given.
	Release string
	// Hash is the value of HashLabel on the objects of the bundle.
	Hash string
	// Namespace is the release's: that of objects which name none.
	Namespace string
	// Objects are those of the current revision, Previous those of the one before. Only what was in Previous can be extra.
	Objects, Previous []*unstructured.Unstructured
	// Afresh says that the caller has just written: the watches may not have told of that yet, and what was found before
	// does not count.
	Afresh bool
	// Options say what is left out of the comparison: Diff and IgnoreOptions are read.
	Options fleet.BundleDeploymentOptions
}

// Scope says of a kind whether its objects are in namespaces. A kind that is not known counts as being in namespaces.
type Scope func(kind schema.GroupVersionKind) (namespaced bool)

// keyOf names an object as the API server does: with the namespace only if its kind has one, and never without.
func keyOf(obj *unstructured.Unstructured, namespace string, scope Scope) Key {
	gvk := obj.GroupVersionKind()
	key := Key{Group: gvk.Group, Kind: gvk.Kind, Name: obj.GetName()}
	if scope(gvk) {
		key.Namespace = cmp.Or(obj.GetNamespace(), namespace)
	}
	return key
}

// flat are the objects without lists: an object of a kind of list stands for its items.
func flat(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	result := make([]*unstructured.Unstructured, 0, len(objects))
	for _, obj := range objects {
		if obj == nil {
			continue
		}
		if !obj.IsList() {
			result = append(result, obj)
			continue
		}
		if list, err := obj.ToList(); err == nil {
			for i := range list.Items {
				result = append(result, &list.Items[i])
			}
		}
	}
	return result
}
