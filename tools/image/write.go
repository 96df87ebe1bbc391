package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// writeArchive writes one image, under the names of both roles.
func writeArchive(path string, r release, image v1.Image) error {
	tags := map[name.Tag]v1.Image{}
	for _, repository := range r.Names {
		tag, err := name.NewTag(repository + ":" + r.Version)
		if err != nil {
			return fmt.Errorf("version %q makes no tag: %w", r.Version, err)
		}
		tags[tag] = image
	}
	return create(path, func(out io.Writer) error {
		var archive bytes.Buffer
		if err := tarball.MultiWrite(tags, &archive); err != nil {
			return err
		}
		return sortTags(out, &archive)
	})
}

// sortTags copies an archive with the names of its image in order: they come out of a map.
func sortTags(out io.Writer, archive io.Reader) error {
	w := tar.NewWriter(out)
	for r := tar.NewReader(archive); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return w.Close()
		}
		if err != nil {
			return err
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if header.Name == "manifest.json" {
			if content, err = sortedManifest(content); err != nil {
				return err
			}
			header.Size = int64(len(content))
		}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		if _, err := w.Write(content); err != nil {
			return err
		}
	}
}

func sortedManifest(content []byte) ([]byte, error) {
	var manifest tarball.Manifest
	if err := json.Unmarshal(content, &manifest); err != nil {
		return nil, fmt.Errorf("manifest of the archive: %w", err)
	}
	for _, image := range manifest {
		sort.Strings(image.RepoTags)
	}
	return json.Marshal(manifest)
}

// writeLayout writes all images as an OCI layout in a tar.
func writeLayout(path string, r release, all []made) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, one := range all {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: one.image, Descriptor: v1.Descriptor{Platform: &one.platform}})
	}
	folder, err := os.MkdirTemp("", "fleet-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	outer := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{
		Add: index, Descriptor: v1.Descriptor{Annotations: map[string]string{"org.opencontainers.image.ref.name": r.Version}},
	})
	if _, err := layout.Write(folder, outer); err != nil {
		return fmt.Errorf("OCI layout: %w", err)
	}
	return create(path, func(out io.Writer) error { return pack(out, folder, r.Created) })
}

// create writes a file whole or not at all.
func create(path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(path), ".image-")
	if err != nil {
		return err
	}
	err = errors.Join(write(out), out.Chmod(0o644), out.Close())
	if err == nil {
		err = os.Rename(out.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("writing %s: %w", path, err), os.Remove(out.Name()))
	}
	return nil
}

// pack writes a folder as a tar, its files in the order of their names and with one time for all.
func pack(out io.Writer, folder string, when time.Time) error {
	var files []string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	sort.Strings(files)
	w := tar.NewWriter(out)
	for _, path := range files {
		if err := add(w, folder, path, when); err != nil {
			return err
		}
	}
	return w.Close()
}

func add(w *tar.Writer, folder, path string, when time.Time) error {
	relative, err := filepath.Rel(folder, path)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	header := tar.Header{
		Name: filepath.ToSlash(relative), Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(content)), ModTime: when, Format: tar.FormatUSTAR,
	}
	if err := w.WriteHeader(&header); err != nil {
		return err
	}
	_, err = w.Write(content)
	return err
}
