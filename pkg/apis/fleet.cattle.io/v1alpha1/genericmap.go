package v1alpha1

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"
)

// GenericMap is a JSON object with any content, such as Helm values.
//
// +kubebuilder:validation:Type=object
// +kubebuilder:validation:XPreserveUnknownFields
type GenericMap struct {
	// Data is the decoded object. Its values are what encoding/json makes of JSON: maps, slices, strings, numbers, booleans, nil.
	Data map[string]interface{} `json:"-"`
}

// MarshalJSON writes the content itself, without a field around it. A map without content is null.
func (m GenericMap) MarshalJSON() ([]byte, error) {
	return json.Marshal(m.Data)
}

// UnmarshalJSON reads any JSON object, or null.
func (m *GenericMap) UnmarshalJSON(data []byte) error {
	m.Data = nil
	return json.Unmarshal(data, &m.Data)
}

// DeepCopyInto writes a copy of m to out that shares nothing with m.
func (m *GenericMap) DeepCopyInto(out *GenericMap) {
	*out = GenericMap{Data: runtime.DeepCopyJSON(m.Data)}
}

// DeepCopy returns a copy of m that shares nothing with it.
func (m *GenericMap) DeepCopy() *GenericMap {
	if m == nil {
		return nil
	}
	out := new(GenericMap)
	m.DeepCopyInto(out)
	return out
}
