// Package metricstest holds the figures of a process against what docs/metrics.md says of them. It is imported by tests
// only.
package metricstest

import (
	"maps"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/pkg/kube"
)

// Scrape reads the figures as a monitoring system does.
func Scrape(t *testing.T, registry prometheus.Gatherer) map[string]*dto.MetricFamily {
	t.Helper()
	answer := httptest.NewRecorder()
	kube.MetricsHandler(registry).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	require.Equal(t, 200, answer.Code, answer.Body.String())
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	require.NoError(t, err)
	return families
}

// Lint checks the names and texts of figures.
func Lint(t *testing.T, registry prometheus.Gatherer) {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	require.NoError(t, err)
	assert.Empty(t, problems)
}

// Documented checks that the table of a page between the comments "<!-- name -->" and "<!-- /name -->" has exactly the
// figures that are scraped, with type, labels and their values, and meaning.
func Documented(t *testing.T, registry prometheus.Gatherer, page, name string) {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "<!-- "+name+" -->")
	table, _, closed := strings.Cut(rest, "<!-- /"+name+" -->")
	require.True(t, found && closed, "%s has no table %s", page, name)
	var have []string
	for _, line := range strings.Split(table, "\n") {
		if strings.HasPrefix(line, "| `") {
			have = append(have, line)
		}
	}
	families := Scrape(t, registry)
	var want []string
	for _, key := range slices.Sorted(maps.Keys(families)) {
		want = append(want, row(families[key]))
	}
	assert.Equal(t, strings.Join(want, "\n"), strings.Join(have, "\n"), "table %s of %s", name, page)
}

func row(family *dto.MetricFamily) string {
	values := map[string][]string{}
	for _, m := range family.GetMetric() {
		for _, label := range m.GetLabel() {
			if value := "`" + label.GetValue() + "`"; !slices.Contains(values[label.GetName()], value) {
				values[label.GetName()] = append(values[label.GetName()], value)
			}
		}
	}
	var labels []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		slices.Sort(values[name])
		labels = append(labels, "`"+name+"`: "+strings.Join(values[name], " "))
	}
	if labels == nil {
		labels = []string{"–"}
	}
	return strings.Join([]string{"| `" + family.GetName() + "`", strings.ToLower(family.GetType().String()), strings.Join(labels, "; "), family.GetHelp() + " |"}, " | ")
}
