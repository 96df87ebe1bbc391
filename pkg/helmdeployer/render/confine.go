package render

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Kustomize follows addresses: it fetches files by HTTP and runs git for folders, past the file system that it is given.
// A bundle could so reach whatever the agent reaches. What names a file must therefore name one of the bundle.
var (
	// inside are the fields whose entries are files or folders.
	inside = []string{"resources", "bases", "components", "crds", "configurations"}
	// plugins are those whose entries are files that name files themselves.
	plugins = []string{"generators", "transformers", "validators"}
	// naming are the fields that have the names of files further down.
	naming = []string{"patches", "patchesStrategicMerge", "patchesJson6902", "replacements", "openapi", "configMapGenerator", "secretGenerator"}
	// written are fields whose text is content: what it says names no file.
	written = []string{"literals", "patch", "jsonOp", "options", "target", "select", "annotations", "labels"}
	// refused run programs.
	refused = []string{"helmCharts", "helmGlobals", "helmChartInflationGenerator"}
)

// check looks at all kustomizations of the bundle: any of them can be the base of another.
func (k *kustomization) check() error {
	for _, file := range k.files {
		if !isKustomization(path.Base(file.Name)) {
			continue
		}
		var fields map[string]any
		if err := yaml.Unmarshal(file.Data, &fields); err != nil {
			return fmt.Errorf("%s: YAML parse error: %w", file.Name, err)
		}
		if err := k.checkFields(path.Dir(file.Name), fields); err != nil {
			return fmt.Errorf("%s: %w", file.Name, err)
		}
	}
	return nil
}

func (k *kustomization) checkFields(folder string, fields map[string]any) error {
	for key, value := range fields {
		var err error
		switch {
		case slices.ContainsFunc(refused, folds(key)):
			err = fmt.Errorf("charts are not rendered by kustomize here: use the bundle's helm options")
		case slices.ContainsFunc(inside, folds(key)):
			err = k.checkEntries(folder, value)
		case slices.ContainsFunc(plugins, folds(key)):
			err = k.checkPlugins(folder, value)
		case slices.ContainsFunc(naming, folds(key)):
			err = checkNames(value, key)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// folds compares without regard to case, as a lenient decoder does.
func folds(key string) func(string) bool {
	return func(known string) bool { return strings.EqualFold(known, key) }
}

func (k *kustomization) checkEntries(folder string, value any) error {
	for _, entry := range texts(value) {
		if strings.ContainsAny(entry, ":@?") || strings.Contains(strings.ToLower(entry), "github.com") || !k.has(path.Join(folder, entry)) {
			return fmt.Errorf("%.120q is not in the bundle, and nothing is loaded from elsewhere", entry)
		}
	}
	return nil
}

// has says whether the bundle has a file, or a folder.
func (k *kustomization) has(name string) bool {
	for _, file := range k.files {
		if file.Name == name || strings.HasPrefix(file.Name, name+"/") || name == "." {
			return true
		}
	}
	return false
}

// checkPlugins allows built-in plugins, as files or written out in place, that name no address.
func (k *kustomization) checkPlugins(folder string, value any) error {
	for _, entry := range texts(value) {
		data := []byte(entry)
		if !strings.Contains(entry, "\n") {
			if data = k.read(path.Join(folder, entry)); data == nil {
				return fmt.Errorf("%.120q is no file of the bundle", entry)
			}
		}
		objects, err := Decode(data)
		if err != nil {
			return err
		}
		for _, object := range objects {
			if object.GetAPIVersion() != "builtin" {
				return fmt.Errorf("%s is no built-in plugin, and no others are run", describe(object))
			}
			if err := checkNames(object.Object, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k *kustomization) read(name string) []byte {
	for _, file := range k.files {
		if file.Name == name {
			return file.Data
		}
	}
	return nil
}

// checkNames refuses addresses. Longer texts are patches that are written out in place; they name no file.
func checkNames(value any, field string) error {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if slices.ContainsFunc(written, folds(key)) {
				continue
			}
			if err := checkNames(inner, key); err != nil {
				return err
			}
		}
	case []any:
		for _, inner := range value {
			if err := checkNames(inner, field); err != nil {
				return err
			}
		}
	case string:
		lower := strings.ToLower(value)
		if !strings.Contains(value, "\n") && (strings.Contains(lower, "http:") || strings.Contains(lower, "https:")) {
			return fmt.Errorf("%.120q is an address: nothing is loaded from elsewhere", value)
		}
	}
	return nil
}

// texts are the texts of a list.
func texts(value any) []string {
	list, _ := value.([]any)
	var found []string
	for _, entry := range list {
		if text, ok := entry.(string); ok {
			found = append(found, text)
		}
	}
	return found
}
