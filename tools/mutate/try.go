package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

// failedTest is the line of go test that names a test which failed.
var failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// try runs the tests without the defence. It is well where one of them fails.
func try(root string, d defence) (verdict string, ok bool) {
	folder, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return err.Error(), false
	}
	defer os.RemoveAll(folder)
	overlay, err := write(root, folder, d)
	if err != nil {
		return err.Error(), false
	}
	args := []string{"test", "-count=1", "-overlay", overlay}
	if d.Run != "" {
		args = append(args, "-run", d.Run)
	}
	cmd := exec.Command("go", append(args, d.tests())...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	return judge(out, err)
}

// judge tells a test that failed from a source that does not compile.
func judge(out []byte, err error) (verdict string, ok bool) {
	var ended *exec.ExitError
	switch found := failedTest.FindSubmatch(out); {
	case err == nil:
		return "no test noticed", false
	case !errors.As(err, &ended):
		return err.Error(), false
	case found != nil:
		return "noticed by " + string(found[1]), true
	}
	return "the tests did not run: " + string(lastLines(out, 5)), false
}

func lastLines(out []byte, n int) []byte {
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-n):], []byte(" | "))
}

// write puts the changed file into a folder, with the list of what stands in for what.
func write(root, folder string, d defence) (overlay string, err error) {
	original, err := filepath.Abs(filepath.Join(root, d.File))
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	mutated, err := d.mutate(string(text))
	if err != nil {
		return "", err
	}
	changed := filepath.Join(folder, filepath.Base(d.File))
	if err := os.WriteFile(changed, []byte(mutated), 0o600); err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		return "", fmt.Errorf("writing the overlay: %w", err)
	}
	return overlay, nil
}
