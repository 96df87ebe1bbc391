// Package v1alpha1 holds the kinds of the API group fleet.cattle.io, one file a kind. Programs outside of this project
// compile against its exported names and their JSON, so both stay as they are; what is new is optional.
// It imports wrangler's condition and summary types, k8s.io/api and k8s.io/apimachinery, and nothing else.
package v1alpha1

// Everything may be left out unless a field says otherwise: other programs write these objects with fields missing,
// empty or zero.
// +kubebuilder:validation:Optional
