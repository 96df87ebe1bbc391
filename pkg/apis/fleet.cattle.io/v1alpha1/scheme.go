package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// +k8s:deepcopy-gen=false

// Builder collects types of one group and version and adds them to schemes.
type Builder struct {
	// GroupVersion is where registered types go.
	GroupVersion schema.GroupVersion
	*runtime.SchemeBuilder
}

// InternalSchemeBuilder is the builder behind AddToScheme: what is registered here is added there too.
var InternalSchemeBuilder = &Builder{GroupVersion: SchemeGroupVersion, SchemeBuilder: &SchemeBuilder}

// Register adds objects to the types that AddToScheme adds to a scheme.
func (b *Builder) Register(objects ...runtime.Object) *Builder {
	b.SchemeBuilder.Register(func(scheme *runtime.Scheme) error {
		scheme.AddKnownTypes(b.GroupVersion, objects...)
		return nil
	})
	return b
}
