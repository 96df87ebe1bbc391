package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

var (
	info = &debug.BuildInfo{
		GoVersion: "go1.26.5", Main: debug.Module{Path: "example.io/product", Version: "(devel)"},
		Deps: []*debug.Module{
			{Path: "example.io/product/apis", Version: "v0.0.0", Replace: &debug.Module{Path: "./apis"}},
			{Path: "example.io/Lib", Version: "v1.2.3+incompatible", Sum: "h1:lib="},
			{Path: "example.io/forked", Version: "v1.0.0", Sum: "h1:old=", Replace: &debug.Module{Path: "example.io/fork", Version: "v1.0.1", Sum: "h1:new="}},
		},
	}
	release = about{file: "product-linux-amd64", version: "v9", sha256: "abc", created: time.Unix(1700000000, 0).UTC()}
)

func TestEveryModuleIsNamedWithVersionAndHash(t *testing.T) {
	d := describe(info, release)
	var got []string
	for _, p := range d.Packages {
		got = append(got, strings.Join([]string{p.Name, p.Version, p.Comment, p.References[0].Locator}, " "))
	}
	want := []string{
		"example.io/product v9  pkg:golang/example.io/product@v9",
		"stdlib 1.26.5  pkg:golang/stdlib@1.26.5",
		"example.io/Lib v1.2.3+incompatible go.sum h1:lib= pkg:golang/example.io/lib@v1.2.3%2Bincompatible",
		"example.io/fork v1.0.1 go.sum h1:new= pkg:golang/example.io/fork@v1.0.1",
		"example.io/product/apis v9  pkg:golang/example.io/product/apis@v9",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if d.Packages[0].Checksums[0].Value != "abc" {
		t.Error("the checksum of the binary is not there")
	}
	if n := len(d.Relationships); n != len(d.Packages) {
		t.Errorf("%d relationships for %d packages", n, len(d.Packages))
	}
}

func TestIDsAreUniqueAndWellFormed(t *testing.T) {
	d := describe(info, release)
	seen := map[string]bool{d.ID: true}
	for _, p := range d.Packages {
		if seen[p.ID] || strings.Trim(strings.TrimPrefix(p.ID, "SPDXRef-"), "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			t.Errorf("ID %s", p.ID)
		}
		seen[p.ID] = true
	}
	for _, r := range d.Relationships {
		if !seen[r.From] || !seen[r.To] {
			t.Errorf("relationship %+v leads nowhere", r)
		}
	}
}

// The test's own binary has build information, too.
func TestTheSameBinaryGivesTheSameBytes(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var documents []string
	for _, name := range []string{"a", "b"} {
		out := filepath.Join(t.TempDir(), name)
		if err := write(self, out, "v1", time.Unix(0, 0).UTC()); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, string(content))
	}
	if documents[0] != documents[1] {
		t.Error("two documents of one binary differ")
	}
	var read document
	if err := json.Unmarshal([]byte(documents[0]), &read); err != nil {
		t.Fatal(err)
	}
	if read.Creation.Created != "1970-01-01T00:00:00Z" || read.Version != "SPDX-2.3" {
		t.Errorf("document %+v", read.Creation)
	}
}

func TestAFileThatIsNoGoBinaryIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(file, file+".json", "v1", time.Unix(0, 0)); err == nil {
		t.Error("no error")
	}
}
