package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const schemaText = `{"properties": {
  "image": {"type": "object", "properties": {"pull": {"enum": ["Always", "Never"]}}},
  "workers": {"type": "object", "additionalProperties": {"$ref": "#/definitions/count"}},
  "most": {"anyOf": [{"type": "integer"}, {"type": "string"}]}},
  "definitions": {"count": {"type": "integer"}}}`

const valuesText = `# What all of it is.

# Where the image is, and
# how it is got.
image:
  pull: Always
  tag: dev

# One thing.
one: ""
other: a|b

# How many.
workers:
  # Void yet.
  a: 1
  b: 2

most: 10%
`

// chart writes a chart's two files into a folder.
func chart(t *testing.T, values string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "chart")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"values.yaml": values, "values.schema.json": schemaText} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestEachValueHasItsCommentTypeAndDefault(t *testing.T) {
	page, err := describe(chart(t, strings.Replace(valuesText, "most:", "# At most.\nmost:", 1)))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"What all of it is.",
		"| `image` | map |  | Where the image is, and how it is got. |",
		"| `image.pull` | `Always` or `Never` | `Always` | see `image` |",
		"| `image.tag` | text | `dev` | see `image` |",
		"| `one` | text | `\"\"` | One thing. |",
		"| `other` | text | `a\\|b` | see `one` |",
		"| `workers.a` | number | `1` | Void yet. |",
		"| `workers.b` | number | `2` | see `workers` |",
		"| `most` | number or text | `10%` | At most. |",
	} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("no line %q in\n%s", line, page)
		}
	}
}

// A value that nobody explains fails the generator, so that it cannot be forgotten.
func TestAValueWithoutACommentIsAnError(t *testing.T) {
	_, err := describe(chart(t, valuesText))
	if err == nil || !strings.Contains(err.Error(), "most has no comment") {
		t.Fatalf("got %v", err)
	}
}

// All charts of one page are in it, and a chart that cannot be read leaves no half page.
func TestThePageHasAllCharts(t *testing.T) {
	good, out := chart(t, "# Top.\n\n# A.\na: 1\n"), filepath.Join(t.TempDir(), "values.md")
	if err := write(out, []string{good, filepath.Join(good, "none")}); err == nil {
		t.Fatal("no error")
	}
	if _, err := os.Stat(out); err == nil {
		t.Fatal("it wrote a page")
	}
	if err := write(out, []string{good}); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(out)
	if err != nil || !strings.Contains(string(page), "## chart\n\nTop.") {
		t.Fatalf("%v\n%s", err, page)
	}
}
