package render

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// maxObjects bounds what one bundle may have.
const maxObjects = 20_000

// Decode reads the objects of a stream of YAML documents, or of one of JSON. Lists are unfolded, empty documents left out.
func Decode(data []byte) ([]*unstructured.Unstructured, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	var objects []*unstructured.Unstructured
	for index := 1; ; index++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("YAML parse error in document %d: %w", index, err)
		}
		more, err := decodeDocument(document)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", index, err)
		}
		if objects = append(objects, more...); len(objects) > maxObjects {
			return nil, fmt.Errorf("more than %d objects", maxObjects)
		}
	}
}

func decodeDocument(document []byte) ([]*unstructured.Unstructured, error) {
	var fields map[string]any
	asJSON, err := yaml.YAMLToJSON(document)
	if err != nil {
		return nil, fmt.Errorf("YAML parse error: %w", err)
	}
	if trimmed := bytes.TrimSpace(asJSON); len(trimmed) == 0 || string(trimmed) == "null" || string(trimmed) == "{}" {
		return nil, nil
	}
	if !bytes.HasPrefix(bytes.TrimSpace(asJSON), []byte("{")) {
		return nil, errors.New("it is no object: a manifest is a mapping with apiVersion, kind and metadata")
	}
	if err := utiljson.Unmarshal(asJSON, &fields); err != nil {
		return nil, fmt.Errorf("YAML parse error: %w", err)
	}
	return unfold(&unstructured.Unstructured{Object: fields})
}

// unfold takes a list apart.
func unfold(object *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	kind, _, err := unstructured.NestedString(object.Object, "kind")
	if err != nil || kind == "" {
		return nil, errors.New("it has no kind")
	}
	if version, _, err := unstructured.NestedString(object.Object, "apiVersion"); err != nil || version == "" {
		return nil, fmt.Errorf("the %.60s has no apiVersion", kind)
	}
	items, isList := object.Object["items"].([]any)
	if !isList || !strings.HasSuffix(kind, "List") {
		return []*unstructured.Unstructured{object}, checkMetadata(object)
	}
	var objects []*unstructured.Unstructured
	for i, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("item %d of the %.60s is no object", i, kind)
		}
		more, err := unfold(&unstructured.Unstructured{Object: fields})
		if err != nil {
			return nil, fmt.Errorf("item %d of the %.60s: %w", i, kind, err)
		}
		objects = append(objects, more...)
	}
	return objects, nil
}

// checkMetadata refuses what the accessors of an object would pass over in silence.
func checkMetadata(object *unstructured.Unstructured) error {
	metadata, found := object.Object["metadata"]
	if !found {
		return fmt.Errorf("the %.60s has no metadata", object.GetKind())
	}
	fields, ok := metadata.(map[string]any)
	if !ok {
		return fmt.Errorf("the metadata of the %.60s is no mapping", object.GetKind())
	}
	for _, field := range []string{"name", "namespace"} {
		if value, found := fields[field]; found && value != nil {
			if _, ok := value.(string); !ok {
				return fmt.Errorf("metadata.%s of the %.60s is no text: quote it", field, object.GetKind())
			}
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		if err := checkTexts(object, field, fields[field]); err != nil {
			return err
		}
	}
	return nil
}

func checkTexts(object *unstructured.Unstructured, field string, value any) error {
	if value == nil {
		return nil
	}
	texts, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("metadata.%s of %s is no mapping", field, describe(object))
	}
	for key, text := range texts {
		if text == nil {
			// As the API server reads it.
			texts[key] = ""
			continue
		}
		if _, ok := text.(string); !ok {
			return fmt.Errorf("metadata.%s[%.80s] of %s is no text: quote it", field, key, describe(object))
		}
	}
	return nil
}

// Encode writes objects as a stream of YAML documents.
func Encode(objects []*unstructured.Unstructured) ([]byte, error) {
	var out bytes.Buffer
	for _, object := range objects {
		document, err := yaml.Marshal(object.Object)
		if err != nil {
			return nil, fmt.Errorf("writing %s: %w", describe(object), err)
		}
		out.WriteString("---\n")
		out.Write(document)
	}
	return out.Bytes(), nil
}

// describe names an object in a message.
func describe(object *unstructured.Unstructured) string {
	name := object.GetName()
	if namespace := object.GetNamespace(); namespace != "" {
		name = namespace + "/" + name
	}
	return fmt.Sprintf("%.60s %.120q", object.GetKind(), name)
}
