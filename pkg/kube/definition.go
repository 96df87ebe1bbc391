package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// DefinitionOf reads the metadata of the CustomResourceDefinition of that name from the API server, nil where there is
// none.
func DefinitionOf(client dynamic.Interface, name string) func(context.Context) (*metav1.PartialObjectMetadata, error) {
	return func(ctx context.Context) (*metav1.PartialObjectMetadata, error) {
		obj, err := client.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("CustomResourceDefinition %s: %w", name, err)
		}
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: obj.GetName(), UID: obj.GetUID(), CreationTimestamp: obj.GetCreationTimestamp(), DeletionTimestamp: obj.GetDeletionTimestamp(),
		}}, nil
	}
}
