package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// WriteJSON writes figures for programs.
func WriteJSON(path string, report any) error {
	content, err := json.MarshalIndent(report, "", " ")
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := os.WriteFile(path, append(content, '\n'), 0o644); err != nil {
		return fmt.Errorf("figures: %w", err)
	}
	return nil
}

// UpdateSection replaces one benchmark's part of a file of results. Other parts stay; a part that is new, or a file that
// is not there yet, is made.
func UpdateSection(path, name, text string) error {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("results: %w", err)
	}
	content, err := replaceSection(string(old), name, text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	return nil
}

// replaceSection puts the text between the markers of a section.
func replaceSection(content, name, text string) (string, error) {
	begin, end := "<!-- "+name+":begin -->", "<!-- "+name+":end -->"
	section := begin + "\n" + strings.Trim(text, "\n") + "\n" + end
	before, rest, found := strings.Cut(content, begin)
	if !found {
		if content != "" {
			content = strings.TrimRight(content, "\n") + "\n\n"
		}
		return content + section + "\n", nil
	}
	_, after, closed := strings.Cut(rest, end)
	if !closed {
		return "", fmt.Errorf("there is %s without %s: put it back, or remove both", begin, end)
	}
	return before + section + after, nil
}
