package cli

import (
	"strconv"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// workersVariables are the variables of the controller's environment that say how many objects of a kind are worked on at
// once (controller.reconciler.workers of the chart). Some are of kinds that this version has no controller for.
var workersVariables = map[string]string{
	"BUNDLE_RECONCILER_WORKERS":           "Bundle",
	"BUNDLEDEPLOYMENT_RECONCILER_WORKERS": "BundleDeployment",
	"CLUSTER_RECONCILER_WORKERS":          "Cluster",
	"CLUSTERGROUP_RECONCILER_WORKERS":     "ClusterGroup",
	"CONTENT_RECONCILER_WORKERS":          "Content",
	"GITREPO_RECONCILER_WORKERS":          "GitRepo",
	"IMAGESCAN_RECONCILER_WORKERS":        "ImageScan",
	"SCHEDULE_RECONCILER_WORKERS":         "Schedule",
}

// kindWorkers reads them. What is missing or unreadable has the default.
func kindWorkers(getenv func(string) string) map[schema.GroupVersionKind]int {
	workers := map[schema.GroupVersionKind]int{}
	for variable, kind := range workersVariables {
		text := getenv(variable)
		if text == "" {
			continue
		}
		number, err := strconv.ParseInt(text, 10, 16)
		if err != nil || number < 1 {
			logrus.Warnf("%s is %.32q: it must be a number from 1 to 32767; the default holds", variable, text)
			continue
		}
		workers[fleet.SchemeGroupVersion.WithKind(kind)] = int(number)
	}
	return workers
}
