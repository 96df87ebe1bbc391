package v1alpha1

// FleetYAML TODO.
type FleetYAML struct {
	Name   string            `json:"name,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	BundleSpec
	TargetCustomizations []BundleTarget  `json:"targetCustomizations,omitempty"`
	ImageScans           []ImageScanYAML `json:"imageScans,omitempty"`
	OverrideTargets      []GitTarget     `json:"overrideTargets,omitempty"`
}

// ImageScanYAML TODO.
type ImageScanYAML struct {
	Name string `json:"name,omitempty"`
	ImageScanSpec
}
