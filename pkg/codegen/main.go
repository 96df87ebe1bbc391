// Command codegen writes the typed controllers of the API group to pkg/generated, and deep copies, lists and the
// registration beside the types. It runs in the root of the module; scripts/generate calls it.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	controllergen "github.com/rancher/wrangler/v3/pkg/controller-gen"
	"github.com/rancher/wrangler/v3/pkg/controller-gen/args"
	"github.com/sirupsen/logrus"

	// Until the controllers exist nothing else imports the API module, and the generator needs it to be used.
	_ "github.com/rancher/fleet/pkg/apis"
)

const (
	group     = "fleet.cattle.io"
	apis      = "./pkg/apis/" + group
	types     = apis + "/v1alpha1"
	generated = "pkg/generated"
)

func main() {
	// With GOPATH set, and the checkout below it, the generator copies every file onto itself and so empties it.
	if err := os.Unsetenv("GOPATH"); err != nil {
		logrus.Fatalf("unsetting GOPATH, which the generator must not see: %v", err)
	}
	if err := removeStale(); err != nil {
		logrus.Fatalf("removing the previous output: %v", err)
	}
	controllergen.Run(args.Options{
		OutputPackage: "github.com/rancher/fleet/" + generated,
		Boilerplate:   "scripts/boilerplate.go.txt",
		Groups: map[string]args.Group{
			// The directory, not the structs: the generator must not import the package that it writes into.
			group: {Types: []any{types}, GenerateTypes: true},
		},
	})
	if err := renameResource(); err != nil {
		logrus.Fatalf("renaming the function Resource: %v", err)
	}
}

// renameResource makes room for the API type Resource: the generator writes a function of that name beside it.
func renameResource() error {
	const file = types + "/zz_generated_register.go"
	source, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	renamed := bytes.Replace(source, []byte("func Resource("), []byte("func GroupResource("), 1)
	renamed = bytes.Replace(renamed, []byte("// Resource takes"), []byte("// GroupResource takes"), 1)
	if bytes.Equal(source, renamed) {
		return fmt.Errorf("%s has no such function: the generator has changed, look at what it writes now", file)
	}
	return os.WriteFile(file, renamed, 0o644)
}

// removeStale deletes what earlier runs wrote, so that nothing of a kind stays that no longer exists.
func removeStale() error {
	if err := os.RemoveAll(generated); err != nil {
		return err
	}
	for _, dir := range []string{apis, types} {
		files, err := filepath.Glob(filepath.Join(dir, "zz_generated*.go"))
		if err != nil {
			return err
		}
		for _, file := range files {
			if err := os.Remove(file); err != nil {
				return err
			}
		}
	}
	return nil
}
