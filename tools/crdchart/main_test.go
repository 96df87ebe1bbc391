package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func manifest(kind, description string) string {
	return `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations:
    controller-gen.kubebuilder.io/version: v9
  name: things.example.io
spec:
  names:
    kind: ` + kind + `
    plural: things
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        description: ` + description + `
        properties:
          spec:
            properties:
              mode: {type: string, default: a}
              list: {type: array, items: {properties: {mode: {type: string, default: a}}}}
              map: {type: object, additionalProperties: {type: string, default: a}}
          status:
            properties:
              mode: {type: string, default: a}
`
}

func TestTemplatesLoseTheGeneratorsVersion(t *testing.T) {
	name, content, err := template([]byte(manifest("Thing", "x")))
	if err != nil || name != "things.yaml" {
		t.Fatalf("got %q, %v", name, err)
	}
	if strings.Contains(string(content), "annotations") || !strings.HasPrefix(string(content), header) {
		t.Errorf("got %s", content)
	}
}

func TestOnlyTheSpecOfHelmOpLosesItsDefaults(t *testing.T) {
	for kind, want := range map[string]int{"Thing": 4, noDefaults: 1} {
		_, content, err := template([]byte(manifest(kind, "x")))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(content), "default: a"); got != want {
			t.Errorf("%s has %d defaults, want %d", kind, got, want)
		}
	}
}

func TestWhatHelmWouldExpandIsRefused(t *testing.T) {
	if _, _, err := template([]byte(manifest("Thing", "'a {{ template }}'"))); err == nil || !strings.Contains(err.Error(), "{{") {
		t.Errorf("got %v", err)
	}
	if _, _, err := template([]byte("kind: ConfigMap")); err == nil {
		t.Error("a manifest of another kind was accepted")
	}
}

func TestTemplatesOfKindsThatAreGoneAreRemoved(t *testing.T) {
	in, out := t.TempDir(), filepath.Join(t.TempDir(), "templates")
	if err := convert(in, out); err == nil {
		t.Error("an empty input was accepted")
	}
	for file, content := range map[string]string{filepath.Join(in, "a.yaml"): manifest("Thing", "x"), filepath.Join(out, "old.yaml"): "x"} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := convert(in, out); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(out, "*"))
	if err != nil || len(files) != 1 || filepath.Base(files[0]) != "things.yaml" {
		t.Errorf("got %v, %v", files, err)
	}
}
