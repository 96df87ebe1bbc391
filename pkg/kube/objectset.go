package kube

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// objectSetPrefix begins every label and annotation of the apply engine.
const objectSetPrefix = "objectset.rio.cattle.io/"

// DropObjectSet takes the apply engine's labels and annotations off an object that is no longer part of a set. On a
// Secret they repeat the beginning of every value, for everyone who may read metadata; earlier versions left them there.
func DropObjectSet(obj metav1.Object) {
	for _, notes := range []map[string]string{obj.GetLabels(), obj.GetAnnotations()} {
		for key := range notes {
			if strings.HasPrefix(key, objectSetPrefix) {
				delete(notes, key)
			}
		}
	}
}
