package charts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"

	"github.com/rancher/fleet/pkg/names"
)

func TestHelmFindsNothingToSayAgainstTheCharts(t *testing.T) {
	for _, chart := range []string{"fleet-crd", hubChart, agentChart} {
		t.Run(chart, func(t *testing.T) {
			linter := lint.All(chart, nil, names.DefaultSystemNamespace, true)
			assert.NotEmpty(t, linter.ChartDir)
			for _, message := range linter.Messages {
				assert.Less(t, message.Severity, support.WarningSev, message.Error())
			}
		})
	}
}

func TestChartsCarryWhatTheCatalogNeeds(t *testing.T) {
	for chart, want := range map[string]map[string]string{
		hubChart: {
			"catalog.cattle.io/namespace":       "cattle-fleet-system",
			"catalog.cattle.io/release-name":    "fleet",
			"catalog.cattle.io/hidden":          "true",
			"catalog.cattle.io/certified":       "rancher",
			"catalog.cattle.io/os":              "linux",
			"catalog.cattle.io/permits-os":      "linux,windows",
			"catalog.cattle.io/auto-install":    "fleet-crd=match",
			"catalog.cattle.io/provides-gvr":    "clusters.fleet.cattle.io/v1alpha1",
			"catalog.cattle.io/kube-version":    ">= 1.30.0-0",
			"catalog.cattle.io/rancher-version": ">= 2.11.0-0",
		},
		agentChart: {
			"catalog.cattle.io/namespace":    "cattle-fleet-system",
			"catalog.cattle.io/release-name": "fleet-agent",
			"catalog.cattle.io/hidden":       "true",
			"catalog.cattle.io/certified":    "rancher",
			"catalog.cattle.io/os":           "linux",
			"catalog.cattle.io/permits-os":   "linux,windows",
		},
	} {
		loaded, err := loader.Load(chart)
		if assert.NoError(t, err) {
			assert.Equal(t, chart, loaded.Name())
			assert.Equal(t, want, loaded.Metadata.Annotations, chart)
		}
	}
}

// The air-gap list of images is read from sibling keys repository and tag.
func TestImagesStandAsRepositoryAndTag(t *testing.T) {
	for chart, keys := range map[string][]string{hubChart: {"image", "agentImage"}, agentChart: {"image"}} {
		loaded, err := loader.Load(chart)
		if !assert.NoError(t, err) {
			continue
		}
		for _, key := range keys {
			image, ok := loaded.Values[key].(map[string]any)
			assert.Truef(t, ok && image["repository"] != "" && image["tag"] != "", "%s: %s is %v", chart, key, loaded.Values[key])
		}
	}
}
