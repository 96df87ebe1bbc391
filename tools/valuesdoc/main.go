// Command valuesdoc writes the reference of the charts' values, a page in Markdown: what each does is the comment above it in
// values.yaml, what it takes comes from values.schema.json. It fails where a value has no comment.
//
//	valuesdoc -out docs/values.md charts/fleet charts/fleet-agent
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
)

const opening = `# Values of the charts

<!-- Written by scripts/generate from values.yaml and values.schema.json of the charts. Changes belong there. -->

How to install with them is told in [install.md](install.md), what Rancher sets in [rancher.md](rancher.md). Chart
` + "`fleet-crd`" + ` has no values.
`

func main() {
	log.SetFlags(0)
	out := flag.String("out", "", "the page")
	flag.Parse()
	if err := write(*out, flag.Args()); err != nil {
		log.Fatalf("valuesdoc: %v", err)
	}
}

// write writes the page of the charts in the given folders.
func write(out string, charts []string) error {
	var page strings.Builder
	page.WriteString(opening)
	for _, chart := range charts {
		section, err := describe(chart)
		if err != nil {
			return fmt.Errorf("%s: %w", chart, err)
		}
		page.WriteString(section)
	}
	return os.WriteFile(out, []byte(page.String()), 0o644)
}

// describe is the section of one chart.
func describe(chart string) (string, error) {
	values, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		return "", err
	}
	source, err := os.ReadFile(filepath.Join(chart, "values.schema.json"))
	if err != nil {
		return "", err
	}
	schema, err := readSchema(source)
	if err != nil {
		return "", fmt.Errorf("values.schema.json: %w", err)
	}
	intro, found, err := readValues(values)
	if err != nil {
		return "", fmt.Errorf("values.yaml: %w", err)
	}
	return section(filepath.Base(chart), intro, found, schema), nil
}
