package v1alpha1

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// field is one field of a kind, with a way to write a document that has it and its parents only.
type field struct {
	path     string
	typ      reflect.Type
	document func(value string) string
}

// fieldsOf returns the fields below a struct of this package, embedded ones as JSON sees them. Elements of slices and
// maps get the path "[]". Types of other packages are not entered.
func fieldsOf(typ reflect.Type, path string, document func(string) string) []field {
	var fields []field
	for i := range typ.NumField() {
		structField := typ.Field(i)
		name, _, _ := strings.Cut(structField.Tag.Get("json"), ",")
		if structField.Anonymous && name == "" {
			if ours(structField.Type) {
				fields = append(fields, fieldsOf(structField.Type, path, document)...)
			}
			continue
		}
		if name == "-" || name == "metadata" {
			continue
		}
		here := path + "." + name
		inside := func(value string) string { return document(fmt.Sprintf("{%q:%s}", name, value)) }
		fields = append(fields, field{here, structField.Type, inside})

		inner := structField.Type
		for {
			outer := inside
			switch inner.Kind() {
			case reflect.Pointer:
			case reflect.Slice:
				inside, here = func(value string) string { return outer("[" + value + "]") }, here+"[]"
			case reflect.Map:
				inside, here = func(value string) string { return outer(`{"key":` + value + `}`) }, here+"[]"
			}
			if kind := inner.Kind(); kind != reflect.Pointer && kind != reflect.Slice && kind != reflect.Map {
				break
			}
			inner = inner.Elem()
		}
		if ours(inner) && inner.Kind() == reflect.Struct {
			fields = append(fields, fieldsOf(inner, here, inside)...)
		}
	}
	return fields
}

func ours(typ reflect.Type) bool { return typ.PkgPath() == reflect.TypeFor[Cluster]().PkgPath() }

// empty returns the JSON of nothing for a type: {}, [], 0, "" or false.
func empty(typ reflect.Type) string {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch typ {
	case reflect.TypeFor[metav1.Time]():
		return `null`
	case reflect.TypeFor[metav1.Duration]():
		return `"0"`
	case reflect.TypeFor[intstr.IntOrString]():
		return `0`
	}
	switch typ.Kind() {
	case reflect.Struct, reflect.Map:
		return `{}`
	case reflect.Slice:
		if typ.Elem().Kind() == reflect.Uint8 {
			return `""`
		}
		return `[]`
	case reflect.String:
		return `""`
	case reflect.Bool:
		return `false`
	default:
		return `0`
	}
}

func decode(typ reflect.Type, document string) (any, error) {
	object := reflect.New(typ).Interface()
	decoder := json.NewDecoder(bytes.NewBufferString(document))
	decoder.DisallowUnknownFields()
	return object, decoder.Decode(object)
}

func eachField(t *testing.T, test func(t *testing.T, kind reflect.Type, field field)) {
	scheme := newScheme(t)
	visited := 0
	for _, kind := range kinds {
		object, err := scheme.New(SchemeGroupVersion.WithKind(kind))
		if err != nil {
			t.Fatal(err)
		}
		typ := reflect.TypeOf(object).Elem()
		for _, field := range fieldsOf(typ, kind, func(value string) string { return value }) {
			test(t, typ, field)
			visited++
		}
	}
	if visited < 1000 {
		t.Errorf("only %d fields were visited", visited)
	}
}

func TestNullIsTheSameAsNothing(t *testing.T) {
	eachField(t, func(t *testing.T, kind reflect.Type, field field) {
		if field.path == "Schedule.spec.duration" {
			return // The server never hands out a null here: the field is not nullable, and so it drops the null.
		}
		got, err := decode(kind, field.document("null"))
		if err != nil {
			t.Errorf("%s: %v", field.path, err)
			return
		}
		// The parents are there in both documents, the field in one.
		document := field.document("")
		at := strings.LastIndex(document, "{")
		want, err := decode(kind, document[:at+1]+document[strings.Index(document[at:], ":")+at+1:])
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: null decoded to %+v, nothing to %+v (%v)", field.path, got, want, err)
		}
	})
}

func TestEmptyValuesSurviveARoundTrip(t *testing.T) {
	eachField(t, func(t *testing.T, kind reflect.Type, field field) {
		first, err := decode(kind, field.document(empty(field.typ)))
		if err != nil {
			t.Errorf("%s: %v", field.path, err)
			return
		}
		encoded, err := json.Marshal(first)
		if err != nil {
			t.Errorf("%s: %v", field.path, err)
			return
		}
		again, err := decode(kind, string(encoded))
		if err != nil {
			t.Errorf("%s: %s cannot be read back: %v", field.path, encoded, err)
			return
		}
		encodedAgain, err := json.Marshal(again)
		if err != nil || string(encoded) != string(encodedAgain) {
			t.Errorf("%s: %s became %s (%v)", field.path, encoded, encodedAgain, err)
		}
	})
}

// A list that is absent and a list that is empty mean different things in these fields.
func TestAbsentAndEmptyListsDiffer(t *testing.T) {
	var cluster Cluster
	var token ClusterRegistrationToken
	for document, object := range map[string]any{
		`{"spec":{"agentPullSecrets":[]}}`: &cluster,
		`{"spec":{"allowedLabels":[]}}`:    &token,
	} {
		if err := json.Unmarshal([]byte(document), object); err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(object)
		if err != nil || !strings.Contains(string(encoded), strings.Trim(document[len(`{"spec":`):], "{}")) {
			t.Errorf("%s became %s (%v)", document, encoded, err)
		}
	}
	if cluster.Spec.AgentPullSecrets == nil || token.Spec.AllowedLabels == nil {
		t.Error("an empty list was decoded to none")
	}
}

// A target's own labels hide those of the options that it embeds: encoding and decoding must agree on which is meant.
func TestNamespaceLabelsOfATargetAreItsOwn(t *testing.T) {
	var target BundleTarget
	if err := json.Unmarshal([]byte(`{"namespaceLabels":{"a":"b"}}`), &target); err != nil {
		t.Fatal(err)
	}
	if target.NamespaceLabels["a"] != "b" || target.BundleDeploymentOptions.NamespaceLabels != nil {
		t.Errorf("got %+v", target)
	}
}

// What a program of an earlier version wrote has none of our fields, and what it reads back has none that it did not set.
func TestOwnFieldsAreLeftOutWhenUnset(t *testing.T) {
	for want, object := range map[string]any{
		`{"metadata":{},"spec":{},"status":{}}`:  ClusterRegistration{},
		`{"metadata":{},"spec":{},"status":{} }`: ClusterRegistrationToken{},
		`{"lastSeen":null,"namespace":""}`:       AgentStatus{},
		`{}`:                                     ClusterSpec{},
	} {
		encoded, err := json.Marshal(object)
		if err != nil || string(encoded) != strings.ReplaceAll(want, " ", "") {
			t.Errorf("%T: got %s (%v), want %s", object, encoded, err, want)
		}
	}
}
