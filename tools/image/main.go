// Command image writes the images of Fleet from its static binaries, without Docker: for each platform an archive that
// `docker load` and `ctr images import` take, and one OCI layout with an index of all. The same binaries and the same time
// give the same bytes.
//
//	image -version v1.2.3 -created 1700000000 -out dist linux/amd64=dist/fleet-linux-amd64 linux/arm64=…
//
// With -archive-only, -names, -program and -links it makes the archive of any other static binary, as the lab's nodes need.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func main() {
	version := flag.String("version", "dev", "the version, which is also the tag")
	revision := flag.String("revision", "", "the commit, for the labels")
	created := flag.Int64("created", 0, "when the images were made, in seconds since 1970")
	out := flag.String("out", "dist", "the folder to write to")
	names := flag.String("names", "rancher/fleet,rancher/fleet-agent", "the names of the image, without the tag: by default one for each role, as the charts want them")
	program := flag.String("program", "fleet", "what the binary is called in the image")
	links := flag.String("links", "fleetagent,fleetcontroller", "other names of the binary in the image")
	archiveOnly := flag.Bool("archive-only", false, "write no OCI layout")
	flag.Parse()
	r := release{
		Version: *version, Revision: *revision, Created: time.Unix(*created, 0).UTC(),
		Names: strings.Split(*names, ","), Program: *program, Links: list(*links), ArchiveOnly: *archiveOnly,
	}
	if err := run(r, *out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// list is what commas separate; nothing in an empty string.
func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

func run(r release, out string, args []string) error {
	if len(args) == 0 {
		return errors.New("name at least one binary, as linux/amd64=FILE")
	}
	var all []made
	for _, arg := range args {
		one, err := build(r, arg)
		if err != nil {
			return err
		}
		path := filepath.Join(out, fmt.Sprintf("%s-%s-%s-image.tar", r.Program, r.Version, strings.ReplaceAll(one.platform.String(), "/", "-")))
		if err := writeArchive(path, r, one.image); err != nil {
			return err
		}
		fmt.Println(path)
		all = append(all, one)
	}
	if r.ArchiveOnly {
		return nil
	}
	path := filepath.Join(out, fmt.Sprintf("%s-%s-oci.tar", r.Program, r.Version))
	if err := writeLayout(path, r, all); err != nil {
		return err
	}
	fmt.Println(path)
	return nil
}

// made is an image of one platform.
type made struct {
	platform v1.Platform
	image    v1.Image
}

// build reads an argument "platform=file" and makes the image.
func build(r release, arg string) (made, error) {
	name, file, ok := strings.Cut(arg, "=")
	if !ok {
		return made{}, fmt.Errorf("%q is not PLATFORM=FILE, such as linux/amd64=dist/fleet", arg)
	}
	platform, err := v1.ParsePlatform(name)
	if err != nil {
		return made{}, fmt.Errorf("%q: %w", arg, err)
	}
	binary, err := os.ReadFile(file)
	if err != nil {
		return made{}, err
	}
	image, err := r.image(*platform, binary)
	if err != nil {
		return made{}, fmt.Errorf("image for %s: %w", name, err)
	}
	return made{platform: *platform, image: image}, nil
}
