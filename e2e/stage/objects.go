package stage

import (
	"context"
	"fmt"
	"time"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// look is how often a condition is looked at while it is waited for.
const look = 50 * time.Millisecond

// Resources that the stage and the suites write and read.
var (
	Clusters      = fleet.SchemeGroupVersion.WithResource("clusters")
	Registrations = fleet.SchemeGroupVersion.WithResource("clusterregistrations")
	Tokens        = fleet.SchemeGroupVersion.WithResource("clusterregistrationtokens")
	Bundles       = fleet.SchemeGroupVersion.WithResource("bundles")
	// Definitions are CustomResourceDefinitions.
	Definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// Create creates an object of the group, with its kind filled in.
func Create[T any](ctx context.Context, c *Cluster, resource schema.GroupVersionResource, kind, namespace string, obj *T) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(fleet.SchemeGroupVersion.WithKind(kind))
	unstructured.RemoveNestedField(u.Object, "status")
	_, err = c.Dynamic.Resource(resource).Namespace(namespace).Create(ctx, u, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating %s %s/%s on %s: %w", kind, namespace, u.GetName(), c.Name, err)
	}
	return nil
}

// Get reads an object; nil where there is none.
func Get[T any](ctx context.Context, c *Cluster, resource schema.GroupVersionResource, namespace, name string) (*T, error) {
	u, err := c.Dynamic.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s/%s on %s: %w", resource.Resource, namespace, name, c.Name, err)
	}
	return convert[T](u)
}

// List reads all objects of a namespace, or of all.
func List[T any](ctx context.Context, c *Cluster, resource schema.GroupVersionResource, namespace string) ([]T, error) {
	list, err := c.Dynamic.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing %s on %s: %w", resource.Resource, c.Name, err)
	}
	out := make([]T, 0, len(list.Items))
	for i := range list.Items {
		obj, err := convert[T](&list.Items[i])
		if err != nil {
			return nil, err
		}
		out = append(out, *obj)
	}
	return out, nil
}

func convert[T any](u *unstructured.Unstructured) (*T, error) {
	obj := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, obj); err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	return obj, nil
}

// Look says whether what is awaited is there, or what is seen instead. An error is seen, too: it does not end the wait.
type Look = func(ctx context.Context) (ok bool, seen string, err error)

// Await looks until done says so or ctx ends. The error says what was awaited and what was seen last.
func Await(ctx context.Context, what string, done Look) error {
	return AwaitEvery(ctx, look, what, done)
}

// AwaitEvery is Await for a look that costs something, with the pause between two of them.
func AwaitEvery(ctx context.Context, pause time.Duration, what string, done Look) error {
	var seen string
	err := wait.PollUntilContextCancel(ctx, pause, true, func(ctx context.Context) (bool, error) {
		ok, now, err := done(ctx)
		if err != nil {
			if ctx.Err() == nil { // else the end of the wait cut the look short, and it says nothing
				seen = err.Error()
			}
			return false, nil // a server that is down may come back
		}
		seen = now
		return ok, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %s: %w; seen last: %s", what, err, seen)
	}
	return nil
}

// AwaitCluster looks at a Cluster until done is satisfied with it.
func (s *Stage) AwaitCluster(ctx context.Context, workspace, name, what string, done func(*fleet.Cluster) bool) (*fleet.Cluster, error) {
	var cluster *fleet.Cluster
	err := Await(ctx, fmt.Sprintf("cluster %s/%s: %s", workspace, name, what), func(ctx context.Context) (bool, string, error) {
		found, err := Get[fleet.Cluster](ctx, s.Hub, Clusters, workspace, name)
		if err != nil || found == nil {
			return false, "no such cluster", err
		}
		cluster = found
		return done(found), Conditions(found.Status.Conditions), nil
	})
	return cluster, err
}

// AwaitConnected waits until a cluster is registered and its agent connected.
func (s *Stage) AwaitConnected(ctx context.Context, workspace, name string) (*fleet.Cluster, error) {
	return s.AwaitCluster(ctx, workspace, name, "Registered and AgentConnected", Connected)
}

// Connected says that a cluster is registered and its agent connected.
func Connected(c *fleet.Cluster) bool {
	return IsTrue(c.Status.Conditions, fleet.ClusterConditionRegistered) && IsTrue(c.Status.Conditions, fleet.ClusterConditionAgentConnected)
}

// Condition is the condition of a type, nil where there is none.
func Condition(list []genericcondition.GenericCondition, kind string) *genericcondition.GenericCondition {
	for i := range list {
		if list[i].Type == kind {
			return &list[i]
		}
	}
	return nil
}

// IsTrue says that a condition is there and True.
func IsTrue(list []genericcondition.GenericCondition, kind string) bool {
	c := Condition(list, kind)
	return c != nil && c.Status == corev1.ConditionTrue
}

// Conditions are conditions in a line.
func Conditions(list []genericcondition.GenericCondition) string {
	out := ""
	for _, c := range list {
		out += fmt.Sprintf(" %s=%s", c.Type, c.Status)
		if c.Reason != "" || c.Message != "" {
			out += fmt.Sprintf("(%s: %s)", c.Reason, c.Message)
		}
	}
	return "conditions:" + out
}
