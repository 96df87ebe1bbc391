package cli

import (
	"testing"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/runtime/schema"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/codegen/crdfacts"
)

func TestWorkersAreReadFromTheEnvironment(t *testing.T) {
	hook := logtest.NewGlobal()
	t.Cleanup(func() { logrus.StandardLogger().ReplaceHooks(logrus.LevelHooks{}) })
	environment := map[string]string{
		"CLUSTER_RECONCILER_WORKERS": "7", "BUNDLE_RECONCILER_WORKERS": "1", "GITREPO_RECONCILER_WORKERS": "",
		"CONTENT_RECONCILER_WORKERS": "0", "SCHEDULE_RECONCILER_WORKERS": "many", "IMAGESCAN_RECONCILER_WORKERS": "99999",
	}

	got := kindWorkers(func(name string) string { return environment[name] })

	kind := fleet.SchemeGroupVersion.WithKind
	assert.Equal(t, map[schema.GroupVersionKind]int{kind("Cluster"): 7, kind("Bundle"): 1}, got)
	assert.Len(t, hook.AllEntries(), 3, "what cannot be is said")
	assert.Empty(t, kindWorkers(func(string) string { return "" }))
}

func TestWorkersAreThoseOfKindsThatExist(t *testing.T) {
	facts, err := crdfacts.All()
	assert.NoError(t, err)
	for variable, kind := range workersVariables {
		assert.Contains(t, facts, kind, variable)
	}
}
