package v1alpha1

import (
	"encoding/json"
	"fmt"
	"reflect"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// GenericMap is a JSON object with any content, such as Helm values.
//
// +kubebuilder:validation:Type=object
// +kubebuilder:validation:XPreserveUnknownFields
type GenericMap struct {
	// Data is the decoded object. Whole numbers are int64, so that large ones keep their last digits, others float64.
	Data map[string]interface{} `json:"-"`
}

// MarshalJSON writes the content itself, without a field around it. Without Data it is null.
func (m GenericMap) MarshalJSON() ([]byte, error) {
	return json.Marshal(m.Data)
}

// UnmarshalJSON reads any JSON object, or null.
func (m *GenericMap) UnmarshalJSON(data []byte) error {
	var content map[string]interface{}
	if err := utiljson.Unmarshal(data, &content); err != nil {
		return fmt.Errorf("decoding values, which must be an object: %w", err)
	}
	m.Data = content
	return nil
}

// DeepCopyInto writes a copy of m to out that shares nothing with m.
func (m *GenericMap) DeepCopyInto(out *GenericMap) {
	*out = GenericMap{}
	if m.Data != nil {
		out.Data = copyValue(m.Data).(map[string]interface{})
	}
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

// copyValue copies what JSON decodes to. Programs also put other Go values there: of these, what can share memory is
// copied as JSON would, because apimachinery's own copy panics at a plain int.
func copyValue(value interface{}) interface{} {
	switch value := value.(type) {
	case map[string]interface{}:
		if value == nil {
			return value
		}
		out := make(map[string]interface{}, len(value))
		for key, element := range value {
			out[key] = copyValue(element)
		}
		return out
	case []interface{}:
		if value == nil {
			return value
		}
		out := make([]interface{}, len(value))
		for i, element := range value {
			out[i] = copyValue(element)
		}
		return out
	}
	switch reflect.ValueOf(value).Kind() {
	case reflect.Map, reflect.Slice, reflect.Pointer, reflect.Struct, reflect.Array:
		return copyAsJSON(value)
	default:
		return value
	}
}

// copyAsJSON encodes and decodes a value. One that JSON cannot hold could not be written to the API either; it is kept.
func copyAsJSON(value interface{}) interface{} {
	encoded, err := json.Marshal(value)
	if err != nil {
		return value
	}
	var out interface{}
	if err := utiljson.Unmarshal(encoded, &out); err != nil {
		return value
	}
	return out
}
