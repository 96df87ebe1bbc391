package stage

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// awaitServed waits until all kinds whose definitions are there are served: an API server answers with 404 for a moment after
// it took them.
func awaitServed(ctx context.Context, cluster *Cluster) error {
	definitions, err := cluster.Dynamic.Resource(Definitions).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("definitions on %s: %w", cluster.Name, err)
	}
	for _, definition := range definitions.Items {
		group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
		plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
		if group != fleet.SchemeGroupVersion.Group {
			continue
		}
		kind := cluster.Dynamic.Resource(fleet.SchemeGroupVersion.WithResource(plural))
		err := Await(ctx, plural+" to be served on "+cluster.Name, func(ctx context.Context) (bool, string, error) {
			_, err := kind.List(ctx, metav1.ListOptions{Limit: 1})
			if apierrors.IsNotFound(err) {
				return false, "404", nil
			}
			return err == nil, "", err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
