package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

const (
	// pageSize is how many objects one answer of the API server brings.
	pageSize = 500
	// maxObjects is how many objects of a kind are read at most; a hub has far fewer.
	maxObjects = 200_000
)

// lister lists one page.
type lister[L runtime.Object] func(ctx context.Context, options metav1.ListOptions) (L, error)

// eachItem reads a list page by page.
func eachItem[L runtime.Object](ctx context.Context, list lister[L], options metav1.ListOptions, do func(runtime.Object) error) error {
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return list(ctx, options)
	})
	pages.PageSize, pages.PageBufferSize = pageSize, 1
	if options.Limit > 0 { // of objects that may be large
		pages.PageSize = options.Limit
	}
	count := 0
	return pages.EachListItem(ctx, options, func(obj runtime.Object) error {
		if count++; count > maxObjects {
			return fmt.Errorf("there are more than %d; name a workspace with -n", maxObjects)
		}
		return do(obj)
	})
}

// each reads all objects of a kind of the group, in a form that may be shown.
func each[T any](ctx context.Context, h *hub, what kind, namespace string, options metav1.ListOptions, do func(*T) error) error {
	return eachItem(ctx, h.resource(what).Namespace(namespace).List, options, func(item runtime.Object) error {
		u, ok := item.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("reading %s: unexpected %T", what.resource, item)
		}
		obj, err := convert[T](u)
		if err != nil {
			return err
		}
		return do(obj)
	})
}

// readAll collects all objects of a kind.
func readAll[T any](ctx context.Context, h *hub, what kind, namespace string) ([]T, error) {
	var all []T
	err := each(ctx, h, what, namespace, metav1.ListOptions{}, func(obj *T) error {
		all = append(all, *obj)
		return nil
	})
	return all, notServed(err)
}

// readOne reads an object, in a form that may be shown.
func readOne[T any](ctx context.Context, h *hub, what kind, o object) (*T, error) {
	u, err := h.resource(what).Namespace(o.workspace).Get(ctx, o.name, metav1.GetOptions{})
	if err != nil {
		return nil, notServed(err)
	}
	return convert[T](u)
}

// errNoHub is said of a cluster that does not serve the group.
var errNoHub = errors.New("this cluster is no hub: the kinds of fleet.cattle.io are not served; install the charts fleet-crd and fleet, or choose another --context")

// notServed tells a kind that is not served from an object that does not exist: of the first the API server knows not even
// the path.
func notServed(err error) error {
	if apierrors.IsNotFound(err) && (apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) || strings.Contains(err.Error(), noSuchPath)) {
		return errNoHub
	}
	return err
}

// noSuchPath is what API servers and client-go say of a path that leads nowhere.
const noSuchPath = "could not find the requested resource"

// convert makes an object of the group's type from what the hub sent, with all text in a form that may be shown.
func convert[T any](u *unstructured.Unstructured) (*T, error) {
	obj := new(T)
	content, _ := shown(u.Object).(map[string]any)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, obj); err != nil {
		return nil, fmt.Errorf("reading %s %s/%s: %w", strings.ToLower(u.GetKind()), u.GetNamespace(), u.GetName(), err)
	}
	return obj, nil
}

// shown is a value of JSON whose texts may be shown on a terminal. A text of several lines becomes one.
func shown(value any) any {
	switch v := value.(type) {
	case string:
		return printable(strings.ReplaceAll(strings.TrimRight(v, "\n"), "\n", "; "), maxError)
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, below := range v {
			out[printable(key, maxError)] = shown(below)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, below := range v {
			out[i] = shown(below)
		}
		return out
	}
	return value
}

// missing says of an object that was not found where else one of its name is, else what to do.
func (h *hub) missing(ctx context.Context, what kind, o object) error {
	text := fmt.Sprintf("there is no %s %s in workspace %s", what.name, o.name, o.workspace)
	hint := ""
	if what == kindToken {
		hint = "; a token whose TTL is over is deleted: make a new one with `fleet token create`"
	}
	var found []string
	options := metav1.ListOptions{FieldSelector: "metadata.name=" + o.name}
	err := each(ctx, h, what, metav1.NamespaceAll, options, func(obj *metav1.PartialObjectMetadata) error {
		found = append(found, "-n "+obj.Namespace)
		return nil
	})
	switch {
	case err == nil && len(found) > 0:
		slices.Sort(found)
		return fmt.Errorf("%s, but with %s", text, strings.Join(found[:min(len(found), 8)], ", "))
	case err == nil:
		return fmt.Errorf("%s, nor in any other; `fleet %s list` shows what there is%s", text, what.verb, hint)
	}
	return fmt.Errorf("%s; -n names another%s", text, hint)
}

// kind is a kind of the group that people name.
type kind struct{ name, resource, verb string }

func (k kind) String() string { return k.name }

var (
	kindCluster = kind{"Cluster", fleet.ClusterResourceName, "cluster"}
	kindToken   = kind{"ClusterRegistrationToken", fleet.ClusterRegistrationTokenResourceName, "token"}
	kindRequest = kind{"ClusterRegistration", fleet.ClusterRegistrationResourceName, "registration"}
	kindBundle  = kind{"Bundle", fleet.BundleResourceName, "bundle"}
)

// Kinds of the group that are read beside those that people name.
var (
	kindGroup       = kind{name: "ClusterGroup", resource: fleet.ClusterGroupResourceName}
	kindMapping     = kind{name: "BundleNamespaceMapping", resource: fleet.BundleNamespaceMappingResourceName}
	kindRestriction = kind{name: "GitRepoRestriction", resource: fleet.GitRepoRestrictionResourceName}
	kindDeployment  = kind{name: "BundleDeployment", resource: fleet.BundleDeploymentResourceName}
	kindContent     = kind{name: "Content", resource: fleet.ContentResourceName}
)

// find reads one object that a person has named.
func find[T any](ctx context.Context, h *hub, what kind, o object) (*T, error) {
	obj, err := readOne[T](ctx, h, what, o)
	switch {
	case errors.Is(err, errNoHub):
		return nil, err
	case apierrors.IsNotFound(err):
		return nil, h.missing(ctx, what, o)
	case err != nil:
		return nil, fmt.Errorf("reading %s %s: %w", what.name, o, err)
	}
	return obj, nil
}
