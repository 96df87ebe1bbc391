// Everything may be left out unless a field says otherwise: other programs write these objects with fields missing, empty or zero.
// +kubebuilder:validation:Optional

package v1alpha1
