package charts

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart/loader"
	"sigs.k8s.io/yaml"
)

// row says what one value of a chart does.
type row struct {
	// path of the value, and the YAML that it is set to.
	path, set string
	// with are other values without which it does nothing.
	with string
	// want looks at the rendering; nil is for a value that is accepted and void.
	want probe
	// refused is part of the error where the chart refuses the value.
	refused string
}

// document is the values file with this value alone.
func (r row) document(t *testing.T) string {
	t.Helper()
	var value any
	require.NoError(t, yaml.Unmarshal([]byte(r.set), &value), r.path)
	steps := strings.Split(r.path, ".")
	for _, step := range slices.Backward(steps) {
		value = map[string]any{step: value}
	}
	text, err := yaml.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

// leaves are the paths of all values of a chart that are no mapping with something in it.
func leaves(prefix string, values map[string]any) []string {
	var paths []string
	for key, value := range values {
		path := strings.TrimPrefix(prefix+"."+key, ".")
		if table, ok := value.(map[string]any); ok && len(table) > 0 {
			paths = append(paths, leaves(path, table)...)
			continue
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// checkValues sets every value of a table, and wants that the table has every value of the chart.
func checkValues(t *testing.T, base func(values string) install, rows []row) {
	t.Helper()
	loaded, err := loader.Load(base("").chart)
	require.NoError(t, err)
	tested := map[string]bool{}
	for _, r := range rows {
		tested[r.path] = true
		t.Run(r.path+"="+r.set, func(t *testing.T) {
			after, err := base(r.with + r.document(t)).render()
			if r.refused != "" {
				assert.ErrorContains(t, err, r.refused)
				return
			}
			require.NoError(t, err)
			before := base(r.with).mustRender(t).text(t)
			if r.want == nil {
				assert.Equal(t, before, after.text(t), "the value is void")
				return
			}
			r.want(t, after)
			assert.NotEqual(t, before, after.text(t), "the value does something")
		})
	}
	for _, path := range leaves("", loaded.Values) {
		assert.Truef(t, tested[path], "value %s of chart %s has no row", path, loaded.Name())
	}
}
