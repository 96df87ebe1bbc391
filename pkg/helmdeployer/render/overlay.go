package render

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/rancher/fleet/pkg/content"
)

// patchMark, before the extension of an overlay's file, makes it a patch of the file without it.
const patchMark = "_patch"

// applyOverlays lays the files of overlays over those of the bundle, in the order of the overlays.
func applyOverlays(files []content.File, overlays []string) ([]content.File, error) {
	if len(overlays) == 0 {
		return files, nil
	}
	merged := append([]content.File(nil), files...)
	for _, overlay := range overlays {
		folder := overlayDir + strings.Trim(path.Clean(overlay), "/") + "/"
		found := false
		for _, file := range files {
			name, ok := strings.CutPrefix(file.Name, folder)
			if !ok || isBundleFile(name) {
				found = found || ok
				continue
			}
			found = true
			var err error
			if merged, err = overlayFile(merged, name, file.Data); err != nil {
				return nil, fmt.Errorf("overlay %.80q, file %.120q: %w", overlay, name, err)
			}
		}
		if !found {
			return nil, fmt.Errorf("yaml.overlays names %.80q, and the bundle has no file below %.100q", overlay, folder)
		}
	}
	return merged, nil
}

// overlayFile replaces, patches or adds a file. It does not change the slots of the given slice's array that others see:
// the slice is this call's own.
func overlayFile(files []content.File, name string, data []byte) ([]content.File, error) {
	target, isPatch := patched(name)
	for i, file := range files {
		switch {
		case isPatch && file.Name == target:
			patched, err := patchFile(file.Data, data)
			if err != nil {
				return nil, err
			}
			files[i].Data = patched
			return files, nil
		case !isPatch && file.Name == name:
			files[i].Data = data
			return files, nil
		}
	}
	if isPatch {
		return nil, fmt.Errorf("it patches %.120q, and the bundle has no such file", target)
	}
	return append(files, content.File{Name: name, Data: data}), nil
}

// patched is the file that a file patches.
func patched(name string) (target string, isPatch bool) {
	ext := path.Ext(name)
	stem, isPatch := strings.CutSuffix(strings.TrimSuffix(name, ext), patchMark)
	return stem + ext, isPatch && isYAML(name)
}

// patchFile patches the object of a file. Of several, the patch names the one that it means by kind and name.
func patchFile(data, patch []byte) ([]byte, error) {
	objects, err := Decode(data)
	if err != nil {
		return nil, fmt.Errorf("the file to be patched: %w", err)
	}
	asJSON, err := yaml.YAMLToJSON(patch)
	if err != nil {
		return nil, fmt.Errorf("the patch is no YAML: %w", err)
	}
	target, err := patchTarget(objects, asJSON)
	if err != nil {
		return nil, err
	}
	original, err := target.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("the object to be patched: %w", err)
	}
	result, err := patchJSON(target, original, asJSON)
	if err != nil {
		return nil, err
	}
	if err := target.UnmarshalJSON(result); err != nil {
		return nil, fmt.Errorf("what the patch makes is no object: %w", err)
	}
	return Encode(objects)
}

func patchTarget(objects []*unstructured.Unstructured, patch []byte) (*unstructured.Unstructured, error) {
	if len(objects) == 1 {
		return objects[0], nil
	}
	var named struct {
		Kind     string
		Metadata struct{ Name string }
	}
	// A list of operations names no object; it leaves the fields empty.
	_ = yaml.Unmarshal(patch, &named)
	for _, object := range objects {
		if named.Kind != "" && object.GetKind() == named.Kind && object.GetName() == named.Metadata.Name {
			return object, nil
		}
	}
	return nil, fmt.Errorf("the file has %d objects, and the patch names none of them by kind and metadata.name", len(objects))
}

// patchJSON patches by operations where the patch is a list, by strategic merge where the kind is built in, else by merge.
func patchJSON(target *unstructured.Unstructured, original, patch []byte) ([]byte, error) {
	if bytes.HasPrefix(bytes.TrimSpace(patch), []byte("[")) {
		operations, err := jsonpatch.DecodePatch(patch)
		if err != nil {
			return nil, fmt.Errorf("reading the JSON patch: %w", err)
		}
		result, err := operations.Apply(original)
		if err != nil {
			return nil, fmt.Errorf("applying the JSON patch: %w", err)
		}
		return result, nil
	}
	typed, err := scheme.Scheme.New(target.GroupVersionKind())
	if err != nil { // not a built-in kind
		result, err := jsonpatch.MergePatch(original, patch)
		if err != nil {
			return nil, fmt.Errorf("applying the merge patch: %w", err)
		}
		return result, nil
	}
	result, err := strategicpatch.StrategicMergePatch(original, patch, typed)
	if err != nil {
		return nil, fmt.Errorf("applying the strategic merge patch: %w", err)
	}
	return result, nil
}
