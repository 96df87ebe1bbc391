package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// DefaultVersion is the Kubernetes line that is built when none is asked for.
const DefaultVersion = "1.37"

// FindRoot looks for the repository's root, from the working directory upwards.
func FindRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("working directory: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(kubeDir(dir)); err == nil && info.IsDir() {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no e2e/kube above %s: run the lab inside a checkout", start)
		}
	}
}

// Versions are the Kubernetes lines that can be built, one module each.
func Versions(root string) ([]string, error) {
	entries, err := os.ReadDir(kubeDir(root))
	if err != nil {
		return nil, fmt.Errorf("Kubernetes lines: %w", err)
	}
	var lines []string
	for _, entry := range entries {
		if entry.IsDir() && strings.Contains(entry.Name(), ".") {
			lines = append(lines, entry.Name())
		}
	}
	return lines, nil
}

func kubeDir(root string) string { return filepath.Join(root, "e2e", "kube") }
