package v1alpha1

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestValuesKeepTheirContent(t *testing.T) {
	for _, text := range []string{
		`null`,
		`{}`,
		`{"empty":{},"false":false,"list":[],"none":null,"text":"","zero":0}`,
		`{"account":9007199254740993,"half":0.5,"negative":-1,"nested":{"list":[{"a":1},null,"x"]}}`,
	} {
		var values GenericMap
		if err := json.Unmarshal([]byte(text), &values); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		encoded, err := json.Marshal(values)
		if err != nil || string(encoded) != text {
			t.Errorf("%s became %s (%v)", text, encoded, err)
		}
		if copied := values.DeepCopy(); !reflect.DeepEqual(copied, &values) {
			t.Errorf("the copy of %s is %v", text, copied)
		}
	}
}

func TestValuesThatAreNoObjectAreRefused(t *testing.T) {
	for _, text := range []string{`[]`, `"text"`, `1`, `true`} {
		values := GenericMap{Data: map[string]interface{}{"kept": true}}
		if err := json.Unmarshal([]byte(text), &values); err == nil {
			t.Errorf("%s was accepted", text)
		} else if values.Data["kept"] != true {
			t.Errorf("%s left %v behind although it was refused", text, values.Data)
		}
	}
}

func TestDecodingReplacesWhatWasThere(t *testing.T) {
	values := GenericMap{Data: map[string]interface{}{"old": true}}
	if err := json.Unmarshal([]byte(`{"new":true}`), &values); err != nil {
		t.Fatal(err)
	}
	if want := map[string]interface{}{"new": true}; !reflect.DeepEqual(want, values.Data) {
		t.Errorf("got %v", values.Data)
	}
}

// Programs fill Data with Go values that JSON does not decode to.
func TestCopiesShareNothing(t *testing.T) {
	original := &GenericMap{Data: map[string]interface{}{
		"map":     map[string]interface{}{"list": []interface{}{map[string]interface{}{"key": "old"}}},
		"strings": []string{"old"},
		"labels":  map[string]string{"key": "old"},
		"int":     3,
		"none":    nil,
		"nilMap":  map[string]interface{}(nil),
		"nilList": []interface{}(nil),
	}}
	before, err := json.Marshal(original)
	if err != nil {
		t.Fatal(err)
	}
	copied := original.DeepCopy()
	original.Data["map"].(map[string]interface{})["list"].([]interface{})[0].(map[string]interface{})["key"] = "new"
	original.Data["strings"].([]string)[0] = "new"
	original.Data["labels"].(map[string]string)["key"] = "new"
	original.Data["int"] = 4

	after, err := json.Marshal(copied)
	if err != nil || string(after) != string(before) {
		t.Errorf("changing the original made the copy %s (%v), want %s", after, err, before)
	}
	if (*GenericMap)(nil).DeepCopy() != nil {
		t.Error("the copy of nothing is something")
	}
}

func TestCopiesKeepWhatJSONCannotHold(t *testing.T) {
	channel := make(chan int)
	original := &GenericMap{Data: map[string]interface{}{"odd": []chan int{channel}}}
	if copied := original.DeepCopy(); !reflect.DeepEqual(copied, original) {
		t.Errorf("got %v", copied.Data)
	}
}
