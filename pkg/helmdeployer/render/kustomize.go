package render

import (
	"fmt"
	"path"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/yaml"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/content"
)

const (
	// kustomizeRoot is where the bundle's files lie in the file system that kustomize sees.
	kustomizeRoot = "/bundle"
	// renderedFile is what the chart rendered, as the first resource of the kustomization.
	renderedFile = "rendered-by-helm.yaml"
)

// kustomizing lets one kustomize run at a time: the schemas that it works with are the process's.
var kustomizing sync.Mutex

// kustomization is the folder that kustomize runs in.
type kustomization struct {
	folder string
	// name is that of the kustomization file in it.
	name  string
	files []content.File
}

// findKustomization finds the kustomization of a bundle; nil means that it has none.
func findKustomization(files []content.File, options *fleet.KustomizeOptions) (*kustomization, error) {
	folder := "."
	if options != nil && options.Dir != "" {
		folder = path.Clean(options.Dir)
	}
	for _, file := range files {
		if path.Dir(file.Name) == folder && isKustomization(path.Base(file.Name)) {
			k := &kustomization{folder: folder, name: path.Base(file.Name), files: files}
			return k, k.check()
		}
	}
	if options != nil && options.Dir != "" {
		return nil, fmt.Errorf("kustomize.dir names %.120q, and the bundle has no kustomization.yaml there", options.Dir)
	}
	return nil, nil
}

func isKustomization(base string) bool {
	switch base {
	case "kustomization.yaml", "kustomization.yml", "Kustomization":
		return true
	}
	return false
}

// run builds the kustomization over what the chart rendered. Nothing but the bundle's files can be read.
func (k *kustomization) run(rendered []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	files := filesys.MakeFsInMemory()
	for _, file := range k.files {
		if err := files.WriteFile(path.Join(kustomizeRoot, file.Name), file.Data); err != nil {
			return nil, fmt.Errorf("kustomize: file %.120q: %w", file.Name, err)
		}
	}
	if len(rendered) > 0 {
		if err := k.inject(files, rendered); err != nil {
			return nil, err
		}
	}
	built, err := k.build(files)
	if err != nil {
		return nil, fmt.Errorf("kustomize: %w", err)
	}
	objects, err := Decode(built)
	if err != nil {
		return nil, fmt.Errorf("what kustomize made: %w", err)
	}
	return objects, nil
}

func (k *kustomization) build(files filesys.FileSystem) ([]byte, error) {
	kustomizing.Lock()
	defer kustomizing.Unlock()
	// The schemas take many megabytes, and most agents run no kustomize most of the time.
	defer openapi.ResetOpenAPI()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, path.Join(kustomizeRoot, k.folder))
	if err != nil {
		return nil, err
	}
	return built.AsYaml()
}

// inject makes what the chart rendered the first resource.
func (k *kustomization) inject(files filesys.FileSystem, rendered []*unstructured.Unstructured) error {
	data, err := Encode(rendered)
	if err != nil {
		return err
	}
	folder := path.Join(kustomizeRoot, k.folder)
	if err := files.WriteFile(path.Join(folder, renderedFile), data); err != nil {
		return fmt.Errorf("kustomize: %w", err)
	}
	name := path.Join(folder, k.name)
	text, err := files.ReadFile(name)
	if err != nil {
		return fmt.Errorf("kustomize: %w", err)
	}
	fields := map[string]any{}
	if err := yaml.Unmarshal(text, &fields); err != nil {
		return fmt.Errorf("kustomize: %s: %w", strings.TrimPrefix(name, kustomizeRoot+"/"), err)
	}
	resources, _ := fields["resources"].([]any)
	fields["resources"] = append([]any{renderedFile}, resources...)
	changed, err := yaml.Marshal(fields)
	if err != nil {
		return fmt.Errorf("kustomize: %w", err)
	}
	if err := files.WriteFile(name, changed); err != nil {
		return fmt.Errorf("kustomize: %w", err)
	}
	return nil
}
