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

// HelmOp TODO.
type HelmOp struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   HelmOpSpec   `json:"spec,omitempty"`
	Status HelmOpStatus `json:"status,omitempty"`
}

// HelmOpSpec TODO.
type HelmOpSpec struct {
	BundleSpec `json:",inline"`
	Labels     map[string]string `json:"labels,omitempty"`
	// +nullable
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self == '0' || (self.matches('^(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+$') && duration(self) <= duration('2562047h'))",message="must be \"0\" or a sequence of numbers with units (ns, us, µs, ms, s, m, h), at most 2562047h"
	PollingInterval *metav1.Duration `json:"pollingInterval,omitempty"`
	// +nullable
	HelmSecretName        string `json:"helmSecretName,omitempty"`
	InsecureSkipTLSverify bool   `json:"insecureSkipTLSVerify,omitempty"`
}

// HelmOpStatus TODO.
type HelmOpStatus struct {
	StatusBase      `json:",inline"`
	LastPollingTime metav1.Time `json:"lastPollingTriggered,omitempty"`
	Version         string      `json:"version,omitempty"`
}
