package cluster

import (
	"encoding/json"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes/scheme"
)

// basis is what the objects that are to be applied were before: as the release had them, and all that attempts may have set
// since which failed. A merge takes away what the basis has and the target has not: without the failed attempts what they
// set would stay, as would a second port beside the first.
func (c *Client) basis(original, target kube.ResourceList) kube.ResourceList {
	var basis kube.ResourceList
	for _, info := range target {
		before := original.Get(info)
		for _, stray := range c.Strays {
			if same(stray, info) {
				before = union(before, stray)
			}
		}
		if before != nil {
			basis.Append(before)
		}
	}
	return basis
}

func same(a, b *resource.Info) bool {
	return a.Name == b.Name && a.Namespace == b.Namespace && a.Mapping.GroupVersionKind.GroupKind() == b.Mapping.GroupVersionKind.GroupKind()
}

// union is an object with all that two forms of it have. Where they cannot be brought together, the first is as good a
// basis as there is.
func union(first, second *resource.Info) *resource.Info {
	if first == nil {
		return second
	}
	original, err := json.Marshal(first.Object)
	if err != nil {
		return first
	}
	more, err := json.Marshal(second.Object)
	if err != nil {
		return first
	}
	var merged []byte
	if typed, unknown := scheme.Scheme.New(first.Mapping.GroupVersionKind); unknown == nil {
		merged, err = strategicpatch.StrategicMergePatch(original, more, typed)
	} else {
		merged, err = jsonpatch.MergePatch(original, more)
	}
	object := &unstructured.Unstructured{}
	if err != nil || object.UnmarshalJSON(merged) != nil {
		return first
	}
	joined := *first
	joined.Object = object
	return &joined
}
