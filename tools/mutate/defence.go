package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// defence is a piece of source that keeps an attack out.
type defence struct {
	// Name says what is kept out.
	Name string `json:"name"`
	// Attacks are the numbers of docs/security.md.
	Attacks []int `json:"attacks"`
	// File is where it stands, Find the text there, which is found once, and Replace what it becomes.
	File    string `json:"file"`
	Find    string `json:"find"`
	Replace string `json:"replace"`
	// Package has the tests; it is the file's own where this is empty.
	Package string `json:"package,omitempty"`
	// Run bounds which of them run.
	Run string `json:"run,omitempty"`
}

func (d defence) String() string {
	return fmt.Sprintf("%s (attack %s)", d.Name, strings.Trim(strings.ReplaceAll(fmt.Sprint(d.Attacks), " ", ", "), "[]"))
}

func (d defence) tests() string {
	if d.Package != "" {
		return d.Package
	}
	return "./" + filepath.ToSlash(filepath.Dir(d.File))
}

func (d defence) check() error {
	switch {
	case d.Name == "":
		return errors.New("a defence has no name")
	case d.File == "" || d.Find == "":
		return fmt.Errorf("%q: file and find are needed", d.Name)
	case d.Find == d.Replace:
		return fmt.Errorf("%q: find and replace are the same", d.Name)
	case len(d.Attacks) == 0:
		return fmt.Errorf("%q: it names no attack", d.Name)
	}
	return nil
}

func parse(text []byte) ([]defence, error) {
	var defences []defence
	if err := yaml.UnmarshalStrict(text, &defences); err != nil {
		return nil, fmt.Errorf("defences.yaml: %w", err)
	}
	seen := map[string]bool{}
	for _, d := range defences {
		if err := d.check(); err != nil {
			return nil, fmt.Errorf("defences.yaml: %w", err)
		}
		if seen[d.Name] {
			return nil, fmt.Errorf("defences.yaml: %q stands there twice", d.Name)
		}
		seen[d.Name] = true
	}
	return defences, nil
}

// mutate takes the defence out of the text of its file.
func (d defence) mutate(text string) (string, error) {
	if n := strings.Count(text, d.Find); n != 1 {
		return "", fmt.Errorf("%s has its text %d times instead of once: bring the list up to date", d.File, n)
	}
	return strings.Replace(text, d.Find, d.Replace, 1), nil
}
