// Command crdchart turns the manifests that controller-gen wrote into the templates of the chart fleet-crd: one file
// a kind, without anything that Helm would take for a template, so that kubectl applies them as well.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

const header = "# Written by scripts/generate from pkg/apis. Changes belong there.\n"

func main() {
	log.SetFlags(0)
	in := flag.String("in", "", "directory with the output of controller-gen")
	out := flag.String("out", "", "templates directory of the chart, emptied first")
	flag.Parse()
	if err := convert(*in, *out); err != nil {
		log.Fatalf("crdchart: %v", err)
	}
}

// convert writes one template for each manifest in the directory in, and nothing else, to the directory out.
func convert(in, out string) error {
	manifests, err := filepath.Glob(filepath.Join(in, "*.yaml"))
	if err != nil {
		return err
	}
	if len(manifests) == 0 {
		return fmt.Errorf("%s holds no manifests: run controller-gen first", in)
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, manifest := range manifests {
		source, err := os.ReadFile(manifest)
		if err != nil {
			return err
		}
		name, content, err := template(source)
		if err != nil {
			return fmt.Errorf("%s: %w", manifest, err)
		}
		if err := os.WriteFile(filepath.Join(out, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// template returns the chart's file for a manifest: its name and its content.
func template(source []byte) (string, []byte, error) {
	crd := map[string]any{}
	if err := yaml.Unmarshal(source, &crd); err != nil {
		return "", nil, err
	}
	plural, err := adapt(crd)
	if err != nil {
		return "", nil, err
	}
	content, err := yaml.Marshal(crd)
	if err != nil {
		return "", nil, err
	}
	if i := bytes.Index(content, []byte("{{")); i >= 0 {
		line := bytes.Count(content[:i], []byte("\n")) + 1
		return "", nil, fmt.Errorf("%q in line %d of the result would be a template to Helm: reword the comment it comes from", "{{", line)
	}
	return plural + ".yaml", append([]byte(header), content...), nil
}
