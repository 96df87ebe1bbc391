package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// maxInput bounds a file that somebody names: it is read into memory.
const maxInput = 64 << 20

// readInput reads a file, or standard input.
func readInput(c *cli.Context, file string) ([]byte, error) {
	source, name := c.App.Reader, "standard input"
	if file != "-" {
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			return nil, fmt.Errorf("%s is a directory: name a file, or - for standard input", file)
		}
		opened, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("%w; name another file, or - for standard input", err)
		}
		defer opened.Close()
		source, name = opened, file
	}
	data, err := io.ReadAll(io.LimitReader(source, maxInput+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", name, err)
	case len(data) > maxInput:
		return nil, fmt.Errorf("%s is larger than %d bytes, and no API server takes so much: it is not the file of one bundle", name, maxInput)
	case len(bytes.TrimSpace(data)) == 0:
		return nil, fmt.Errorf("%s is empty", name)
	}
	return data, nil
}

// documents are the documents of a YAML or JSON stream that have something in them.
func documents(data []byte) ([][]byte, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	var all [][]byte
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		var content any
		if err := yaml.Unmarshal(document, &content); err != nil {
			return nil, err
		}
		if content != nil {
			all = append(all, document)
		}
	}
}

// readBundleFile reads the Bundle that somebody names.
func readBundleFile(c *cli.Context) (*fleet.Bundle, error) {
	file := c.String(flagBundleFile)
	data, err := readInput(c, file)
	if err != nil {
		return nil, err
	}
	all, err := documents(data)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s is no YAML: %s", file, plain(err))
	case len(all) != 1:
		return nil, fmt.Errorf("%s has %d documents: it must be one Bundle", file, len(all))
	}
	bundle := &fleet.Bundle{}
	strange, err := decode(all[0], bundle)
	if err != nil {
		return nil, fmt.Errorf("%s is no Bundle: %w", file, err)
	}
	noteStrange(c, file, strange)
	if kind := bundle.Kind; kind != "" && kind != "Bundle" || bundle.APIVersion != "" && !strings.HasPrefix(bundle.APIVersion, fleet.SchemeGroupVersion.Group+"/") {
		return nil, fmt.Errorf("%s is a %.64q of %.64q: it must be a Bundle of %s", file, kind, bundle.APIVersion, fleet.SchemeGroupVersion)
	}
	if err := validName(file+": metadata.name", bundle.Name); err != nil {
		return nil, err
	}
	if typed := c.String(flagNamespace); typed != "" {
		if bundle.Namespace != "" && bundle.Namespace != typed {
			return nil, usagef("%s: metadata.namespace is %.64q, and -n %s is another", file, bundle.Namespace, typed)
		}
		bundle.Namespace = typed
	}
	return bundle, nil
}

// noteStrange tells what in a file is not understood: most often it is mistyped.
func noteStrange(c *cli.Context, file string, strange []string) {
	if len(strange) > 0 {
		note(c, "Not everything in %s is understood: %s", file, strings.Join(strange, ", "))
	}
}
