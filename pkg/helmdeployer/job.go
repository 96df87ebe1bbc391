package helmdeployer

import (
	"fmt"

	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/content"
	"github.com/rancher/fleet/pkg/helmdeployer/fetch"
	"github.com/rancher/fleet/pkg/names"
)

// Job is a bundle that is to be deployed.
type Job struct {
	// Name is the bundle's ID: the name of its BundleDeployment.
	Name string
	// ManifestID and Commit say which content this is. They make the version of a chart that has none.
	ManifestID, Commit string
	// Origin says which hub wants it, and for which life of a Cluster; empty where that is not known. It is recorded with the
	// release.
	Origin string
	// Files are the bundle's resources.
	Files []content.File
	// Chart is how the chart's repository is reached, where the chart does not come with the files.
	Chart ChartAccess
	// Options are the bundle's, with the values of its Secret merged in.
	Options fleet.BundleDeploymentOptions
	// Release is the ID of the release so far, as the status has it; empty if none is known.
	Release string
	// Force says that the caller deploys although nothing changed. Deploy always deploys; whether to call it is not its own.
	Force bool
	// Agent says that this is the bundle of the agent itself: it adopts what the import applied, it is deployed by the agent
	// on nobody's behalf, nothing is waited for that would end the waiting process, and it is never uninstalled.
	Agent bool
}

// ChartAccess is how the repository of a chart is reached.
type ChartAccess = fetch.Access

// Release is what was deployed. Its objects are as they were applied, in that order, with their namespaces filled in.
type Release struct {
	// ID is "<namespace>/<name>:<revision>".
	ID        string
	Namespace string
	Objects   []*unstructured.Unstructured
}

// defaultNamespace is where bundles go that name no namespace.
const defaultNamespace = "default"

// Namespace is where the release of a bundle is.
func Namespace(options fleet.BundleDeploymentOptions) string {
	switch {
	case options.TargetNamespace != "":
		return options.TargetNamespace
	case options.DefaultNamespace != "":
		return options.DefaultNamespace
	}
	return defaultNamespace
}

// ReleaseName is the name of the release of a bundle.
func ReleaseName(bundleID string, options fleet.BundleDeploymentOptions) string {
	if options.Helm != nil && options.Helm.ReleaseName != "" {
		return options.Helm.ReleaseName
	}
	return names.HelmReleaseName(bundleID)
}

// check refuses what could be no release.
func (j Job) check() error {
	if j.Name == "" {
		return fmt.Errorf("the bundle has no name")
	}
	namespace := Namespace(j.Options)
	if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
		return fmt.Errorf("%.80q can be no namespace: %s", namespace, problems[0])
	}
	name := ReleaseName(j.Name, j.Options)
	if err := chartutil.ValidateReleaseName(name); err != nil {
		return fmt.Errorf("%.80q can be no name of a release (helm.releaseName): %w", name, err)
	}
	return nil
}

// helm are the options of Helm, empty where the bundle has none.
func (j Job) helm() fleet.HelmOptions {
	if j.Options.Helm == nil {
		return fleet.HelmOptions{}
	}
	return *j.Options.Helm
}
