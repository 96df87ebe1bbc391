package charts

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/rancher/fleet/pkg/names"
)

const (
	hubChart   = "fleet"
	agentChart = "fleet-agent"
)

// Kinds that the hub's chart asks for.
const (
	policyKind     = "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy"
	flowSchemaKind = "flowcontrol.apiserver.k8s.io/v1/FlowSchema"
)

// install is one installation of a chart: what a user gives to Helm.
type install struct {
	chart     string
	release   string
	namespace string
	values    string
	// live answers the chart's lookups; without it there is no cluster, as for "helm template".
	live engine.ClientProvider
	// without are kinds that the cluster does not serve, as group/version/kind.
	without []string
	// kubernetes is the version that "helm template" is told, where no cluster is asked.
	kubernetes string
}

func hub(values string) install {
	return install{chart: hubChart, release: "fleet", namespace: names.DefaultSystemNamespace, values: values}
}

// agent is an installation with the values that every agent needs, and more.
func agent(values string) install {
	const required = "apiServerURL: https://hub.example.com:6443\ntoken: secret-token\ntokenName: edge\n"
	return install{chart: agentChart, release: "fleet-agent", namespace: names.DefaultSystemNamespace, values: required + values}
}

// rendered are the objects of an installation, and the text that Helm prints after it.
type rendered struct {
	objects []runtime.Object
	notes   string
}

// input is what templates get to see: Helm has checked it against the schema.
func (i install) input() (*chart.Chart, chartutil.Values, error) {
	loaded, err := loader.Load(i.chart)
	if err != nil {
		return nil, nil, err
	}
	values, err := chartutil.ReadValues([]byte(i.values))
	if err != nil {
		return nil, nil, err
	}
	options := chartutil.ReleaseOptions{Name: i.release, Namespace: i.namespace, Revision: 1, IsInstall: true}
	input, err := chartutil.ToRenderValues(loaded, values, options, i.capabilities())
	return loaded, input, err
}

// capabilities are what Helm finds out of a cluster, as far as the charts ask for it.
func (i install) capabilities() *chartutil.Capabilities {
	found := chartutil.DefaultCapabilities.Copy()
	if i.kubernetes != "" {
		found.KubeVersion.Version = i.kubernetes
		return found
	}
	found.APIVersions = slices.Clone(found.APIVersions)
	for _, kind := range []string{"v1/Namespace", policyKind, flowSchemaKind} {
		if !slices.Contains(i.without, kind) {
			found.APIVersions = append(found.APIVersions, kind)
		}
	}
	return found
}

func (i install) render() (rendered, error) {
	loaded, input, err := i.input()
	if err != nil {
		return rendered{}, err
	}
	render := engine.Render
	if i.live != nil {
		render = func(c *chart.Chart, v chartutil.Values) (map[string]string, error) {
			return engine.RenderWithClientProvider(c, v, i.live)
		}
	}
	files, err := render(loaded, input)
	if err != nil {
		return rendered{}, err
	}
	return decode(files)
}

func (i install) mustRender(t *testing.T) rendered {
	t.Helper()
	r, err := i.render()
	require.NoError(t, err)
	return r
}

// strict refuses fields that an object does not have: a misspelt one would be dropped by the server without a word.
var strict = serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()

func decode(files map[string]string) (rendered, error) {
	var r rendered
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if path.Base(file) == "NOTES.txt" {
			r.notes = files[file]
			continue
		}
		documents := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(files[file])))
		for {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return r, fmt.Errorf("%s: %w", file, err)
			}
			if isBlank(document) {
				continue
			}
			object, _, err := strict.Decode(document, nil, nil)
			if err != nil {
				return r, fmt.Errorf("%s: %w\n%s", file, err, document)
			}
			r.objects = append(r.objects, object)
		}
	}
	return r, nil
}

func isBlank(document []byte) bool {
	var content map[string]any
	err := yaml.Unmarshal(document, &content)
	return err == nil && len(content) == 0
}

// list says which objects there are, as kind/namespace/name.
func (r rendered) list() []string {
	var keys []string
	for _, object := range r.objects {
		key := object.GetObjectKind().GroupVersionKind().Kind
		if accessor, ok := object.(metav1.Object); ok {
			key = path.Join(key, accessor.GetNamespace(), accessor.GetName())
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// text is all objects as YAML, for comparing two renderings.
func (r rendered) text(t *testing.T) string {
	t.Helper()
	var all bytes.Buffer
	for _, object := range r.objects {
		document, err := yaml.Marshal(object)
		require.NoError(t, err)
		all.WriteString("---\n")
		all.Write(document)
	}
	return all.String()
}

// find returns the object of type T by its name, and fails where there is not exactly one.
func find[T runtime.Object](t *testing.T, r rendered, namespace, name string) T {
	t.Helper()
	var found []T
	for _, object := range r.objects {
		typed, ok := object.(T)
		if !ok {
			continue
		}
		accessor, err := meta.Accessor(object)
		require.NoError(t, err)
		if accessor.GetName() == name && accessor.GetNamespace() == namespace {
			found = append(found, typed)
		}
	}
	require.Lenf(t, found, 1, "%T %s/%s in\n%s", *new(T), namespace, name, strings.Join(r.list(), "\n"))
	return found[0]
}
