package v1alpha1

// FleetYAML is the file fleet.yaml, which says how a directory becomes a bundle.
type FleetYAML struct {
	// The name of the bundle.
	Name string `json:"name,omitempty"`
	// The labels of the bundle.
	Labels map[string]string `json:"labels,omitempty"`
	BundleSpec
	// Changes of the options for some clusters. Unlike targets, they do not choose the clusters.
	TargetCustomizations []BundleTarget `json:"targetCustomizations,omitempty"`
	// Image scans that come with the bundle.
	ImageScans []ImageScanYAML `json:"imageScans,omitempty"`
	// Replaces the targets of the GitRepo.
	OverrideTargets []GitTarget `json:"overrideTargets,omitempty"`
}

// ImageScanYAML is an image scan in fleet.yaml.
type ImageScanYAML struct {
	// The name of the ImageScan.
	Name string `json:"name,omitempty"`
	ImageScanSpec
}
