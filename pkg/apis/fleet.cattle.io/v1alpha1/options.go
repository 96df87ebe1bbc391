package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BundleDeploymentOptions is how a bundle is deployed to a cluster.
type BundleDeploymentOptions struct {
	GitOpsBundleDeploymentOptions `json:",inline"`
	// The namespace of resources that name none.
	// +nullable
	DefaultNamespace string `json:"defaultNamespace,omitempty"`
	// The namespace of all resources. Cluster-scoped resources are then refused.
	// +nullable
	TargetNamespace string `json:"namespace,omitempty"`
	// How Helm renders and installs the bundle.
	Helm *HelmOptions `json:"helm,omitempty"`
	// The service account in the agent's namespace on whose behalf the bundle is deployed.
	// +nullable
	ServiceAccount string `json:"serviceAccount,omitempty"`
	// Whether the namespace of the release is created. It is unless this is false.
	// +nullable
	CreateNamespace *bool `json:"createNamespace,omitempty"`
	// Deploys the bundle again whenever it changes.
	ForceSyncGeneration int64 `json:"forceSyncGeneration,omitempty"`
	// What is left out when the cluster is compared with what was applied.
	// +nullable
	Diff *DiffOptions `json:"diff,omitempty"`
	// Leaves the resources on the cluster when the bundle is removed.
	KeepResources bool `json:"keepResources,omitempty"`
	// Removes the namespace of the release when the bundle is removed.
	DeleteNamespace bool `json:"deleteNamespace,omitempty"`
	// What is left out when the readiness of resources is judged.
	// +nullable
	IgnoreOptions *IgnoreOptions `json:"ignore,omitempty"`
	// What is done about changes that others make to the resources.
	CorrectDrift *CorrectDrift `json:"correctDrift,omitempty"`
	// The labels of the release's namespace. The whole set: others are removed.
	// +nullable
	NamespaceLabels map[string]string `json:"namespaceLabels,omitempty"`
	// The annotations of the release's namespace. The whole set: others are removed.
	// +nullable
	NamespaceAnnotations map[string]string `json:"namespaceAnnotations,omitempty"`
	// Removes the CustomResourceDefinitions of the bundle, and with them all of their objects, when the bundle
	// is removed.
	DeleteCRDResources bool `json:"deleteCRDResources,omitempty"`
	// Secrets and ConfigMaps of the bundle's namespace that are copied to the cluster.
	DownstreamResources []DownstreamResource `json:"downstreamResources,omitempty"`
	// Resources of the bundle that another bundle has too, and that this one may take over. Set by the
	// controller.
	Overwrites []OverwrittenResource `json:"overwrites,omitempty"`
	// Restricts the namespaces that may be deployed to by their labels. Set by the controller.
	// +nullable
	AllowedTargetNamespaceSelector *metav1.LabelSelector `json:"allowedTargetNamespaceSelector,omitempty"`
}

// GitOpsBundleDeploymentOptions are the options that are read from a repository only.
type GitOpsBundleDeploymentOptions struct {
	// How plain manifests are patched.
	// +nullable
	YAML *YAMLOptions `json:"yaml,omitempty"`
	// How Kustomize is used.
	// +nullable
	Kustomize *KustomizeOptions `json:"kustomize,omitempty"`
}

// YAMLOptions is how plain manifests are patched.
type YAMLOptions struct {
	// Names of directories below overlays/, whose files replace or patch those of the bundle, in this order.
	// +nullable
	Overlays []string `json:"overlays,omitempty"`
}

// KustomizeOptions is how Kustomize is used.
type KustomizeOptions struct {
	// The directory of the kustomization.
	// +nullable
	Dir string `json:"dir,omitempty"`
}

// DiffOptions is how what was applied and what is found are compared.
type DiffOptions struct {
	// Changes that are made to both sides before they are compared.
	// +nullable
	ComparePatches []ComparePatch `json:"comparePatches,omitempty"`
}

// ComparePatch changes an object before it is compared.
type ComparePatch struct {
	// The group and version of the object.
	// +nullable
	APIVersion string `json:"apiVersion,omitempty"`
	// The kind of the object.
	// +nullable
	Kind string `json:"kind,omitempty"`
	// The name of the object, or a regular expression for it.
	// +nullable
	Name string `json:"name,omitempty"`
	// The namespace of the object.
	// +nullable
	Namespace string `json:"namespace,omitempty"`
	// Paths that are removed, as JSON pointers.
	// +nullable
	JsonPointers []string `json:"jsonPointers,omitempty"`
	// Operations that are applied, in the manner of a JSON patch.
	// +nullable
	Operations []Operation `json:"operations,omitempty"`
}

// Operation is a step of a JSON patch, or ignore, which drops the object from the comparison.
type Operation struct {
	// The operation: add, remove, replace, or ignore.
	// +nullable
	Op string `json:"op,omitempty"`
	// The path that it applies to, as a JSON pointer.
	// +nullable
	Path string `json:"path,omitempty"`
	// The new value, as JSON.
	// +nullable
	Value string `json:"value,omitempty"`
}

// IgnoreOptions is what does not count when the readiness of resources is judged.
type IgnoreOptions struct {
	// Conditions that are left out when all of the given fields are equal.
	// +nullable
	Conditions []map[string]string `json:"conditions,omitempty"`
}

// CorrectDrift is what is done about changes that others make to the resources.
type CorrectDrift struct {
	// Reverts such changes.
	Enabled bool `json:"enabled,omitempty"`
	// Replaces resources that cannot be changed in place. This may delete and make them again.
	Force bool `json:"force,omitempty"`
	// Keeps the Helm history of attempts that failed.
	KeepFailHistory bool `json:"keepFailHistory,omitempty"`
}

// DownstreamResource is an object that is copied to the cluster.
type DownstreamResource struct {
	// Secret or ConfigMap.
	Kind string `json:"kind,omitempty"`
	// The name of the object.
	Name string `json:"name,omitempty"`
}

// OverwrittenResource is a resource that another bundle has too.
type OverwrittenResource struct {
	// The name of the resource.
	Name string `json:"name,omitempty"`
	// The namespace of the resource.
	Namespace string `json:"namespace,omitempty"`
	// The kind of the resource.
	Kind string `json:"kind,omitempty"`
}
