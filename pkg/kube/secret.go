package kube

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// ErrSecret says that a Secret with data was given to an apply set.
var ErrSecret = errors.New("a Secret with data must be written directly: an apply set repeats the first bytes of every value in an annotation")

// RefuseSecret returns an error for a Secret that carries data, nil for everything else.
func RefuseSecret(obj runtime.Object) error {
	switch typed := obj.(type) {
	case *corev1.Secret:
		if len(typed.Data)+len(typed.StringData) > 0 {
			return fmt.Errorf("secret %s/%s: %w", typed.Namespace, typed.Name, ErrSecret)
		}
	case *unstructured.Unstructured:
		if typed.GetAPIVersion() == "v1" && typed.GetKind() == "Secret" && (typed.Object["data"] != nil || typed.Object["stringData"] != nil) {
			return fmt.Errorf("secret %s/%s: %w", typed.GetNamespace(), typed.GetName(), ErrSecret)
		}
	}
	return nil
}
