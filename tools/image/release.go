package main

import (
	"archive/tar"
	"bytes"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// release is what all images of a version have in common.
type release struct {
	Version, Revision string
	Created           time.Time
	// Names are those of the image; Program is what the binary is called in it, and Links are its other names there.
	Names       []string
	Program     string
	Links       []string
	ArchiveOnly bool
}

// image has the binary under its three names, and nothing else: no shell, no other file that could be run.
func (r release) image(platform v1.Platform, binary []byte) (v1.Image, error) {
	content, err := r.files(binary)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{Layer: layer, History: v1.History{
		Created: v1.Time{Time: r.Created}, CreatedBy: "scripts/package", Comment: "the binary and its names",
	}})
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, r.config(platform, image))
}

func (r release) config(platform v1.Platform, image v1.Image) *v1.ConfigFile {
	had, err := image.ConfigFile()
	if err != nil {
		had = &v1.ConfigFile{}
	}
	config := had.DeepCopy()
	config.Created = v1.Time{Time: r.Created}
	config.OS, config.Architecture, config.Variant = platform.OS, platform.Architecture, platform.Variant
	config.Config = v1.Config{
		User:       "1000:1000",
		Env:        []string{"PATH=/usr/bin", "HOME=/tmp"},
		Entrypoint: []string{r.Program},
		Labels: map[string]string{
			"org.opencontainers.image.title":    r.Program,
			"org.opencontainers.image.version":  r.Version,
			"org.opencontainers.image.revision": r.Revision,
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return config
}

// files are those of the image, as a tar with nothing in it that differs from one run to the next.
func (r release) files(binary []byte) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	type file struct {
		tar.Header
		content []byte
	}
	files := []file{
		{tar.Header{Name: "etc/", Typeflag: tar.TypeDir, Mode: 0o755}, nil},
		{tar.Header{Name: "etc/passwd", Typeflag: tar.TypeReg, Mode: 0o644}, []byte("fleet:x:1000:1000:fleet:/tmp:/sbin/nologin\n")},
		{tar.Header{Name: "etc/group", Typeflag: tar.TypeReg, Mode: 0o644}, []byte("fleet:x:1000:\n")},
		{tar.Header{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777}, nil},
		{tar.Header{Name: "usr/", Typeflag: tar.TypeDir, Mode: 0o755}, nil},
		{tar.Header{Name: "usr/bin/", Typeflag: tar.TypeDir, Mode: 0o755}, nil},
		{tar.Header{Name: "usr/bin/" + r.Program, Typeflag: tar.TypeReg, Mode: 0o755}, binary},
	}
	for _, link := range r.Links {
		files = append(files, file{tar.Header{Name: "usr/bin/" + link, Typeflag: tar.TypeSymlink, Linkname: r.Program, Mode: 0o777}, nil})
	}
	for _, file := range files {
		header := file.Header
		header.Size, header.ModTime, header.Format = int64(len(file.content)), r.Created, tar.FormatUSTAR
		if err := w.WriteHeader(&header); err != nil {
			return nil, err
		}
		if _, err := w.Write(file.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
