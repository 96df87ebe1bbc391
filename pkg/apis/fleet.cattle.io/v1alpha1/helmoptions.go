package v1alpha1

// HelmOptions is how Helm renders and installs a bundle.
type HelmOptions struct {
	GitOpsHelmOptions `json:",inline"`
	// The chart: its name in the repository, a path in the bundle, or a URL.
	// +nullable
	Chart string `json:"chart,omitempty"`
	// The URL of the Helm repository.
	// +nullable
	Repo string `json:"repo,omitempty"`
	// The name of the release. One is derived from the bundle if none is given.
	// +nullable
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	// +kubebuilder:validation:MaxLength=53
	ReleaseName string `json:"releaseName,omitempty"`
	// The version of the chart, or a range of versions.
	// +nullable
	Version string `json:"version,omitempty"`
	// How long Helm waits until the resources are ready, in seconds. At 0 it waits for hooks only. A target with
	// a number below 0 sets the bundle's number back to 0.
	TimeoutSeconds int `json:"timeoutSeconds,omitempty"`
	// Values for the chart.
	// +nullable
	Values *GenericMap `json:"values,omitempty"`
	// Values for the chart, as templates that are filled in per cluster.
	// +nullable
	TemplateValues map[string]string `json:"templateValues,omitempty"`
	// ConfigMaps and Secrets on the cluster that hold values for the chart.
	// +nullable
	ValuesFrom []ValuesFrom `json:"valuesFrom,omitempty"`
	// Lets Helm replace resources that cannot be changed in place.
	Force bool `json:"force,omitempty"`
	// Lets Helm take over resources that belong to no release, or to another one.
	TakeOwnership bool `json:"takeOwnership,omitempty"`
	// How many revisions Helm keeps.
	MaxHistory int `json:"maxHistory,omitempty"`
	// Waits until all Jobs are done.
	WaitForJobs bool `json:"waitForJobs,omitempty"`
	// Rolls back when an upgrade fails.
	Atomic bool `json:"atomic,omitempty"`
	// Does not fill in templates in the values.
	DisablePreProcess bool `json:"disablePreProcess,omitempty"`
	// Does not let charts look up names in DNS.
	DisableDNS bool `json:"disableDNS,omitempty"`
	// Does not check the values against the chart's schema.
	SkipSchemaValidation bool `json:"skipSchemaValidation,omitempty"`
	// Does not fetch the chart's dependencies.
	DisableDependencyUpdate bool `json:"disableDependencyUpdate,omitempty"`
}

// GitOpsHelmOptions are the options of Helm that are read from a repository only.
type GitOpsHelmOptions struct {
	// Files in the bundle that hold values for the chart.
	// +nullable
	ValuesFiles []string `json:"valuesFiles,omitempty"`
}

// ValuesFrom points to values on the cluster.
type ValuesFrom struct {
	// A key of a ConfigMap.
	// +nullable
	ConfigMapKeyRef *ConfigMapKeySelector `json:"configMapKeyRef,omitempty"`
	// A key of a Secret.
	// +nullable
	SecretKeyRef *SecretKeySelector `json:"secretKeyRef,omitempty"`
}

// ConfigMapKeySelector is a key of a ConfigMap.
type ConfigMapKeySelector struct {
	LocalObjectReference `json:",inline"`
	// The namespace of the ConfigMap. That of the release if it is empty.
	// +nullable
	Namespace string `json:"namespace,omitempty"`
	// The key. It is values.yaml if it is empty.
	// +nullable
	Key string `json:"key,omitempty"`
}

// SecretKeySelector is a key of a Secret.
type SecretKeySelector struct {
	LocalObjectReference `json:",inline"`
	// The namespace of the Secret. That of the release if it is empty.
	// +nullable
	Namespace string `json:"namespace,omitempty"`
	// The key. It is values.yaml if it is empty.
	// +nullable
	Key string `json:"key,omitempty"`
}

// LocalObjectReference names an object whose kind is known from where the reference stands.
type LocalObjectReference struct {
	// The name of the object.
	// +nullable
	Name string `json:"name"`
}
