package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

var some = release{
	Version: "v1.2.3", Revision: "abc", Created: time.Unix(1700000000, 0).UTC(),
	Names: []string{"rancher/fleet", "rancher/fleet-agent"}, Program: "fleet", Links: []string{"fleetagent", "fleetcontroller"},
}

// must fails the test over an error.
func must[T any](t *testing.T, got T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// written are the files of a run with two platforms.
func written(t *testing.T) string {
	t.Helper()
	out := t.TempDir()
	var args []string
	for _, platform := range []string{"linux/amd64", "linux/arm64"} {
		binary := filepath.Join(t.TempDir(), "fleet")
		if err := os.WriteFile(binary, []byte("the binary of "+platform), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, platform+"="+binary)
	}
	if err := run(some, out, args); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTheSameBinariesMakeTheSameBytes(t *testing.T) {
	first, second := written(t), written(t)
	files, err := os.ReadDir(first)
	if len(must(t, files, err)) != 3 {
		t.Fatalf("%d files", len(files))
	}
	for _, file := range files {
		a, errA := os.ReadFile(filepath.Join(first, file.Name()))
		b, errB := os.ReadFile(filepath.Join(second, file.Name()))
		if err := errors.Join(errA, errB); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs: %v", file.Name(), err)
		}
	}
}

func TestAnArchiveHasTheBinaryForBothRoles(t *testing.T) {
	path := filepath.Join(written(t), "fleet-v1.2.3-linux-arm64-image.tar")
	for _, repository := range []string{"rancher/fleet", "rancher/fleet-agent"} {
		tag, err := name.NewTag(repository + ":v1.2.3")
		if err != nil {
			t.Fatal(err)
		}
		image, err := tarball.ImageFromPath(path, &tag)
		if err := validate.Image(must(t, image, err)); err != nil {
			t.Error(err)
		}
		config, err := image.ConfigFile()
		if must(t, config, err).Architecture != "arm64" || config.OS != "linux" || config.Config.User != "1000:1000" || !config.Created.Equal(some.Created) {
			t.Errorf("%+v", config)
		}
		files := filesOf(t, image)
		if got := files["usr/bin/fleet"]; got != "the binary of linux/arm64" {
			t.Errorf("the binary is %q", got)
		}
		for _, link := range []string{"usr/bin/fleetagent", "usr/bin/fleetcontroller"} {
			if files[link] != "-> fleet" {
				t.Errorf("%s: %q", link, files[link])
			}
		}
		if len(files) != 9 {
			t.Errorf("there is more in it than needed: %v", files)
		}
	}
}

func TestAnArchiveOfAnotherProgramHasItAlone(t *testing.T) {
	out, binary := t.TempDir(), filepath.Join(t.TempDir(), "pause")
	if err := os.WriteFile(binary, []byte("waits"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := release{Version: "1", Names: []string{"fleet-lab/pause"}, Program: "pause", ArchiveOnly: true}
	if err := run(other, out, []string{"linux/amd64=" + binary}); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadDir(out)
	if len(must(t, written, err)) != 1 {
		t.Fatalf("%v", written)
	}
	tag, err := name.NewTag("fleet-lab/pause:1")
	if err != nil {
		t.Fatal(err)
	}
	image, err := tarball.ImageFromPath(filepath.Join(out, written[0].Name()), &tag)
	config, err := must(t, image, err).ConfigFile()
	if !slices.Equal(must(t, config, err).Config.Entrypoint, []string{"pause"}) {
		t.Errorf("%v", config.Config.Entrypoint)
	}
	files := filesOf(t, image)
	if _, is := files["usr/bin/fleetagent"]; is || files["usr/bin/pause"] != "waits" {
		t.Errorf("%v", files)
	}
}

func filesOf(t *testing.T, image v1.Image) map[string]string {
	t.Helper()
	content := mutate.Extract(image)
	defer content.Close()
	files := map[string]string{}
	for r := tar.NewReader(content); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		body := must(t, header, err)
		text, err := io.ReadAll(r)
		if body.Typeflag == tar.TypeSymlink {
			text = []byte("-> " + body.Linkname)
		}
		files[body.Name] = string(must(t, text, err))
	}
}

func TestTheLayoutHasAllPlatforms(t *testing.T) {
	folder := unpacked(t, filepath.Join(written(t), "fleet-v1.2.3-oci.tar"))
	outer, err := layout.ImageIndexFromPath(folder)
	if err := validate.Index(must(t, outer, err)); err != nil {
		t.Fatal(err)
	}
	top, err := outer.IndexManifest()
	if len(must(t, top, err).Manifests) != 1 || top.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "v1.2.3" {
		t.Fatalf("%+v", top)
	}
	inner, err := outer.ImageIndex(top.Manifests[0].Digest)
	list, err := must(t, inner, err).IndexManifest()
	var platforms []string
	for _, m := range must(t, list, err).Manifests {
		platforms = append(platforms, m.Platform.String())
	}
	if !slices.Equal(platforms, []string{"linux/amd64", "linux/arm64"}) {
		t.Errorf("%v", platforms)
	}
}

// unpacked is a tar in a folder.
func unpacked(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(path)
	defer must(t, file, err).Close()
	folder := t.TempDir()
	for r := tar.NewReader(file); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return folder
		}
		target := filepath.Join(folder, filepath.FromSlash(must(t, header, err).Name))
		content, err := io.ReadAll(r)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(target), 0o700), os.WriteFile(target, content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBadArgumentsAreNamed(t *testing.T) {
	for says, args := range map[string][]string{
		"at least one":      nil,
		"not PLATFORM=FILE": {"linux/amd64"},
		"no such file":      {"linux/amd64=" + filepath.Join(t.TempDir(), "gone")},
	} {
		if err := run(some, t.TempDir(), args); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v", args, err)
		}
	}
	bad := some
	bad.Version = "no tag"
	binary := filepath.Join(t.TempDir(), "fleet")
	if err := os.WriteFile(binary, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(bad, t.TempDir(), []string{"linux/amd64=" + binary}); err == nil || !strings.Contains(err.Error(), "makes no tag") {
		t.Error(err)
	}
}
