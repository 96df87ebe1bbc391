package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BundleDeploymentOptions TODO.
type BundleDeploymentOptions struct {
	GitOpsBundleDeploymentOptions `json:",inline"`
	// +nullable
	DefaultNamespace string `json:"defaultNamespace,omitempty"`
	// +nullable
	TargetNamespace string       `json:"namespace,omitempty"`
	Helm            *HelmOptions `json:"helm,omitempty"`
	// +nullable
	ServiceAccount string `json:"serviceAccount,omitempty"`
	// +nullable
	CreateNamespace     *bool `json:"createNamespace,omitempty"`
	ForceSyncGeneration int64 `json:"forceSyncGeneration,omitempty"`
	// +nullable
	Diff            *DiffOptions `json:"diff,omitempty"`
	KeepResources   bool         `json:"keepResources,omitempty"`
	DeleteNamespace bool         `json:"deleteNamespace,omitempty"`
	// +nullable
	IgnoreOptions *IgnoreOptions `json:"ignore,omitempty"`
	CorrectDrift  *CorrectDrift  `json:"correctDrift,omitempty"`
	// +nullable
	NamespaceLabels map[string]string `json:"namespaceLabels,omitempty"`
	// +nullable
	NamespaceAnnotations map[string]string     `json:"namespaceAnnotations,omitempty"`
	DeleteCRDResources   bool                  `json:"deleteCRDResources,omitempty"`
	DownstreamResources  []DownstreamResource  `json:"downstreamResources,omitempty"`
	Overwrites           []OverwrittenResource `json:"overwrites,omitempty"`
	// +nullable
	AllowedTargetNamespaceSelector *metav1.LabelSelector `json:"allowedTargetNamespaceSelector,omitempty"`
}

// GitOpsBundleDeploymentOptions TODO.
type GitOpsBundleDeploymentOptions struct {
	// +nullable
	YAML *YAMLOptions `json:"yaml,omitempty"`
	// +nullable
	Kustomize *KustomizeOptions `json:"kustomize,omitempty"`
}

// YAMLOptions TODO.
type YAMLOptions struct {
	// +nullable
	Overlays []string `json:"overlays,omitempty"`
}

// KustomizeOptions TODO.
type KustomizeOptions struct {
	// +nullable
	Dir string `json:"dir,omitempty"`
}

// DiffOptions TODO.
type DiffOptions struct {
	// +nullable
	ComparePatches []ComparePatch `json:"comparePatches,omitempty"`
}

// ComparePatch TODO.
type ComparePatch struct {
	// +nullable
	APIVersion string `json:"apiVersion,omitempty"`
	// +nullable
	Kind string `json:"kind,omitempty"`
	// +nullable
	Name string `json:"name,omitempty"`
	// +nullable
	Namespace string `json:"namespace,omitempty"`
	// +nullable
	JsonPointers []string `json:"jsonPointers,omitempty"`
	// +nullable
	Operations []Operation `json:"operations,omitempty"`
}

// Operation TODO.
type Operation struct {
	// +nullable
	Op string `json:"op,omitempty"`
	// +nullable
	Path string `json:"path,omitempty"`
	// +nullable
	Value string `json:"value,omitempty"`
}

// IgnoreOptions TODO.
type IgnoreOptions struct {
	// +nullable
	Conditions []map[string]string `json:"conditions,omitempty"`
}

// CorrectDrift TODO.
type CorrectDrift struct {
	Enabled         bool `json:"enabled,omitempty"`
	Force           bool `json:"force,omitempty"`
	KeepFailHistory bool `json:"keepFailHistory,omitempty"`
}

// DownstreamResource TODO.
type DownstreamResource struct {
	Kind string `json:"kind,omitempty"`
	Name string `json:"name,omitempty"`
}

// OverwrittenResource TODO.
type OverwrittenResource struct {
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Kind      string `json:"kind,omitempty"`
}
