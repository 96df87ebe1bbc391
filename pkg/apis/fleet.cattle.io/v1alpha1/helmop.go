package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=helmops,scope=Namespaced,categories=fleet
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Repo",type=string,JSONPath=`.spec.helm.repo`
// +kubebuilder:printcolumn:name="Chart",type=string,JSONPath=`.spec.helm.chart`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="BundleDeployments-Ready",type=string,JSONPath=`.status.display.readyBundleDeployments`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`

// HelmOp is a Helm chart in a repository that a bundle is made from.
type HelmOp struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Which chart, and for which clusters.
	Spec HelmOpSpec `json:"spec,omitempty"`
	// What has come of it.
	Status HelmOpStatus `json:"status,omitempty"`
}

// HelmOpSpec is which chart, and for which clusters. None of its fields has a default: programs that write it
// compare what they read with what they wrote.
type HelmOpSpec struct {
	BundleSpec `json:",inline"`
	// Labels of the bundle.
	Labels map[string]string `json:"labels,omitempty"`
	// How often the repository is asked for a new version, if the version is a range.
	// +kubebuilder:validation:Type=string
	// +nullable
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self == '0' || (self.matches('^(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|ms|s|m|h))+$') && duration(self) <= duration('2562047h'))",message="must be \"0\" or a sequence of numbers with units (ns, us, µs, ms, s, m, h), at most 2562047h"
	PollingInterval *metav1.Duration `json:"pollingInterval,omitempty"`
	// The secret with the credentials of the repository.
	// +nullable
	HelmSecretName string `json:"helmSecretName,omitempty"`
	// Accepts any certificate of the repository.
	InsecureSkipTLSverify bool `json:"insecureSkipTLSVerify,omitempty"`
}

// HelmOpStatus is what has come of a chart.
type HelmOpStatus struct {
	StatusBase `json:",inline"`
	// When the repository was asked for a new version last.
	LastPollingTime metav1.Time `json:"lastPollingTriggered,omitempty"`
	// The version that was found and is deployed.
	Version string `json:"version,omitempty"`
}
