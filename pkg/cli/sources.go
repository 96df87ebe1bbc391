package cli

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rancher/fleet/pkg/deployment"
	"github.com/rancher/fleet/pkg/explain/delivery"
)

// readSources reads what is copied to clusters, as it is now on the hub. What of it is in the Secrets and ConfigMaps is not
// told: it is read to tell whether the copies change.
func readSources(ctx context.Context, h *hub, facts *delivery.Facts) error {
	facts.Sources = map[deployment.Copy]runtime.Object{}
	for _, c := range delivery.Copied(*facts) {
		obj, err := h.source(ctx, facts.Bundle.Namespace, c)
		switch {
		case err == nil:
			facts.Sources[c] = obj
		case apierrors.IsNotFound(err):
			facts.Sources[c] = nil
		case apierrors.IsForbidden(err):
			facts.Unknown = append(facts.Unknown, fmt.Sprintf("you may not get %s %s/%s: whether its copies on clusters change", c.Kind, facts.Bundle.Namespace, c.Name))
		default:
			return fmt.Errorf("reading %s %s/%s, which downstreamResources names: %w", c.Kind, facts.Bundle.Namespace, c.Name, err)
		}
	}
	return nil
}

func (h *hub) source(ctx context.Context, namespace string, c deployment.Copy) (runtime.Object, error) {
	if c.Kind == deployment.SecretKind {
		return h.clients.CoreV1().Secrets(namespace).Get(ctx, c.Name, metav1.GetOptions{})
	}
	return h.clients.CoreV1().ConfigMaps(namespace).Get(ctx, c.Name, metav1.GetOptions{})
}
