package desired

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/wrangler/v3/pkg/apply"
	"github.com/rancher/wrangler/v3/pkg/gvk"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// kind is a declared kind.
type kind struct {
	indexer    cache.Indexer
	namespaced bool
}

// kindsOf knows a namespaced kind by the index that lasso gives its cache.
func kindsOf(getters []apply.InformerGetter) map[schema.GroupVersionKind]kind {
	kinds := make(map[schema.GroupVersionKind]kind, len(getters))
	for _, getter := range getters {
		indexer := getter.Informer().GetIndexer()
		_, namespaced := indexer.GetIndexers()[cache.NamespaceIndex]
		kinds[getter.GroupVersionKind()] = kind{indexer: indexer, namespaced: namespaced}
	}
	return kinds
}

// identify checks the owner and returns the hash by which the objects of its set are known.
func (a *Applier) identify(owner Owner) (string, error) {
	if owner != nil && reflect.ValueOf(owner).IsNil() {
		return "", fmt.Errorf("set %s: the owner is a nil %T", a.set.ID, owner)
	}
	if a.set.OwnerReferences {
		if owner == nil {
			return "", fmt.Errorf("set %s: owner references were asked for without an owner", a.set.ID)
		}
		if owner.GetUID() == "" {
			return "", a.wrap(owner, errors.New("the owner has no UID: only a live object can be referred to, the garbage collector would delete what refers to another"))
		}
	}
	id, err := identity(a.set.ID, owner)
	if err != nil {
		return "", a.wrap(owner, err)
	}
	return id, nil
}

func identity(setID string, owner Owner) (string, error) {
	if setID == "" {
		return "", errors.New("the set has no ID")
	}
	var object runtime.Object
	if owner != nil {
		object = owner
	}
	labels, _, err := apply.GetLabelsAndAnnotations(setID, object)
	if err != nil {
		return "", err
	}
	return labels[apply.LabelHash], nil
}

// inspect refuses what the engine would take and the set would regret.
func (a *Applier) inspect(objs []runtime.Object) (wanted, error) {
	if len(objs) == 0 {
		return nil, ErrEmpty
	}
	found := make(wanted, len(objs))
	for _, obj := range objs {
		if obj == nil || reflect.ValueOf(obj).IsNil() {
			return nil, fmt.Errorf("an object is nil (%T)", obj)
		}
		key, err := a.inspectOne(obj)
		if err != nil {
			return nil, err
		}
		if _, twice := found[key]; twice {
			return nil, fmt.Errorf("%s is in the set twice", key)
		}
		found[key] = obj
	}
	return found, nil
}

func (a *Applier) inspectOne(obj runtime.Object) (objectKey, error) {
	kind, err := gvk.Get(obj)
	if err != nil {
		return objectKey{}, err
	}
	object, err := meta.Accessor(obj)
	if err != nil {
		return objectKey{}, fmt.Errorf("%s: %w", kind.Kind, err)
	}
	key := keyOf(kind, object)
	declared, ok := a.kinds[kind]
	switch {
	case !ok:
		return key, fmt.Errorf("%s: its kind is not declared, the set could not remove it again: add it to Kinds", key)
	case object.GetName() == "":
		return key, fmt.Errorf("%s: it has no name, and a generated name would be another one each time", key)
	case declared.namespaced && object.GetNamespace() == "":
		return key, fmt.Errorf("%s: it has no namespace and would end up in default: set one", key)
	case kube.NeedsManagedLabel(kind) && object.GetLabels()[names.ManagedLabel] != "true":
		return key, fmt.Errorf("%s: it lacks the label %s=true, without which the hub's cache would never show it: add it", key, names.ManagedLabel)
	}
	if err := kube.RefuseSecret(obj); err != nil {
		return key, err
	}
	return key, nil
}

// objectKey is what identifies an object in a cluster.
type objectKey struct {
	kind            schema.GroupVersionKind
	namespace, name string
}

func keyOf(kind schema.GroupVersionKind, obj metav1.Object) objectKey {
	return objectKey{kind: kind, namespace: obj.GetNamespace(), name: obj.GetName()}
}

func (k objectKey) String() string {
	if k.namespace == "" {
		return k.kind.Kind + " " + k.name
	}
	return k.kind.Kind + " " + k.namespace + "/" + k.name
}
