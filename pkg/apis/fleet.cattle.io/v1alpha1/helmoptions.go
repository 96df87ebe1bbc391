package v1alpha1

// HelmOptions TODO.
type HelmOptions struct {
	GitOpsHelmOptions `json:",inline"`
	// +nullable
	Chart string `json:"chart,omitempty"`
	// +nullable
	Repo string `json:"repo,omitempty"`
	// +nullable
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +kubebuilder:validation:MaxLength=53
	ReleaseName string `json:"releaseName,omitempty"`
	// +nullable
	Version        string `json:"version,omitempty"`
	TimeoutSeconds int    `json:"timeoutSeconds,omitempty"`
	// +nullable
	Values *GenericMap `json:"values,omitempty"`
	// +nullable
	TemplateValues map[string]string `json:"templateValues,omitempty"`
	// +nullable
	ValuesFrom              []ValuesFrom `json:"valuesFrom,omitempty"`
	Force                   bool         `json:"force,omitempty"`
	TakeOwnership           bool         `json:"takeOwnership,omitempty"`
	MaxHistory              int          `json:"maxHistory,omitempty"`
	WaitForJobs             bool         `json:"waitForJobs,omitempty"`
	Atomic                  bool         `json:"atomic,omitempty"`
	DisablePreProcess       bool         `json:"disablePreProcess,omitempty"`
	DisableDNS              bool         `json:"disableDNS,omitempty"`
	SkipSchemaValidation    bool         `json:"skipSchemaValidation,omitempty"`
	DisableDependencyUpdate bool         `json:"disableDependencyUpdate,omitempty"`
}

// GitOpsHelmOptions TODO.
type GitOpsHelmOptions struct {
	// +nullable
	ValuesFiles []string `json:"valuesFiles,omitempty"`
}

// ValuesFrom TODO.
type ValuesFrom struct {
	// +nullable
	ConfigMapKeyRef *ConfigMapKeySelector `json:"configMapKeyRef,omitempty"`
	// +nullable
	SecretKeyRef *SecretKeySelector `json:"secretKeyRef,omitempty"`
}

// ConfigMapKeySelector TODO.
type ConfigMapKeySelector struct {
	LocalObjectReference `json:",inline"`
	// +nullable
	Namespace string `json:"namespace,omitempty"`
	// +nullable
	Key string `json:"key,omitempty"`
}

// SecretKeySelector TODO.
type SecretKeySelector struct {
	LocalObjectReference `json:",inline"`
	// +nullable
	Namespace string `json:"namespace,omitempty"`
	// +nullable
	Key string `json:"key,omitempty"`
}

// LocalObjectReference TODO.
type LocalObjectReference struct {
	// +nullable
	Name string `json:"name"`
}
