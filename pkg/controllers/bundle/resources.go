package bundle

import (
	"fmt"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/content"
)

// resources are what a bundle deploys.
type resources struct {
	// id stands for them in the IDs of versions.
	id string
	// content is the name of the Content that holds them, empty where they are in a registry, or a repository.
	content string
	// sum is their whole digest, where the hub has them.
	sum string
}

// identified is what is remembered of a bundle's resources.
type identified struct {
	generation int64
	resources  resources
}

// resourcesOf finds the digest of a bundle's resources, which takes milliseconds for each megabyte, once for each
// generation.
func (h *handler) resourcesOf(bundle *fleet.Bundle) (resources, error) {
	if bundle.Spec.ContentsID != "" || bundle.Spec.HelmOpOptions != nil {
		return resources{id: bundle.Spec.ContentsID}, nil
	}
	if have, ok := h.manifests.Get(bundle.UID); ok {
		if known, is := have.(identified); is && known.generation == bundle.Generation && known.generation != 0 {
			return known.resources, nil
		}
	}
	manifest, err := content.New(bundle.Spec.Resources)
	if err != nil {
		return resources{}, &finalError{reason: "InvalidResources", err: err}
	}
	res := resources{id: manifest.ID(), content: manifest.ID(), sum: manifest.SHA256()}
	h.manifests.Add(bundle.UID, identified{generation: bundle.Generation, resources: res}, rememberIDs)
	return res, nil
}

// ensureContent makes the Content before anything refers to it. One that is too large is not sent at all (C01).
func (h *handler) ensureContent(bundle *fleet.Bundle, res resources) error {
	if res.content == "" {
		return nil
	}
	written, _ := h.contents.Find("", res.content)
	have, err := found(h.Contents.Cache().Get(res.content))
	if err != nil {
		return fmt.Errorf("reading Content %s: %w", res.content, err)
	}
	if have == nil {
		have = written
	}
	if have != nil && have.DeletionTimestamp == nil {
		return nil
	}
	manifest, err := content.New(bundle.Spec.Resources)
	if err != nil {
		return &finalError{reason: "InvalidResources", err: err}
	}
	object, err := manifest.Content()
	if err != nil {
		return &finalError{reason: "ContentTooLarge", err: err}
	}
	made, err := h.Contents.Create(object)
	switch {
	case err == nil:
		h.contents.Created(&fleet.Content{ObjectMeta: made.ObjectMeta})
		return nil
	case apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err):
		logrus.WithField("bundle", bundle.Namespace+"/"+bundle.Name).Warnf("The API server refuses the content: %v", err)
		return &finalError{reason: "ContentRefused", err: fmt.Errorf("the API server refuses the bundle's content: %w", err)}
	default:
		return fmt.Errorf("creating Content %s: %w", res.content, err)
	}
}
