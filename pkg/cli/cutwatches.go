package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/fleet/pkg/names"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// cutMark begins what is put behind the description of the kind. The next upgrade of chart fleet-crd takes it away again.
const cutMark = "\n\nAll watches on the kind were ended by fleet cluster revoke at "

// cutWatches ends every watch on BundleDeployments: the API server begins anew with a kind whose definition has changed, be
// it by a word of its description. Who may go on lists again at once.
func cutWatches(ctx context.Context, h *hub, now time.Time) error {
	var err error
	for range attempts {
		var definition *unstructured.Unstructured
		if definition, err = h.objects.Resource(definitions).Get(ctx, names.DeploymentDefinition, metav1.GetOptions{}); err != nil {
			break
		}
		if err = markDescriptions(definition.Object, now); err != nil {
			break
		}
		if _, err = h.objects.Resource(definitions).Update(ctx, definition, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			break
		}
	}
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("its watches were not cut: that needs the right to get and update CustomResourceDefinition %s, which you have not; repeat the command as somebody who has: %w",
			names.DeploymentDefinition, err)
	}
	if err != nil {
		return fmt.Errorf("its watches were not cut: CustomResourceDefinition %s: %w", names.DeploymentDefinition, err)
	}
	return nil
}

// markDescriptions writes the time behind the description of each version's schema, in place of an earlier one.
func markDescriptions(definition map[string]any, now time.Time) error {
	versions, _, err := unstructured.NestedSlice(definition, "spec", "versions")
	if err != nil {
		return fmt.Errorf("reading its versions: %w", err)
	}
	marked := 0
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if !ok {
			continue
		}
		description, _, err := unstructured.NestedString(version, "schema", "openAPIV3Schema", "description")
		if err != nil {
			return fmt.Errorf("reading its description: %w", err)
		}
		description, _, _ = strings.Cut(description, cutMark)
		description += cutMark + now.UTC().Format(time.RFC3339Nano) + "."
		if err := unstructured.SetNestedField(version, description, "schema", "openAPIV3Schema", "description"); err != nil {
			return fmt.Errorf("changing its description: %w", err)
		}
		marked++
	}
	if marked == 0 {
		return fmt.Errorf("it has no version")
	}
	if err := unstructured.SetNestedSlice(definition, versions, "spec", "versions"); err != nil {
		return fmt.Errorf("changing its versions: %w", err)
	}
	return nil
}
