package v1alpha1

import (
	"github.com/rancher/wrangler/v3/pkg/genericcondition"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=imagescans,scope=Namespaced
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Repository",type=string,JSONPath=`.spec.image`
// +kubebuilder:printcolumn:name="Latest",type=string,JSONPath=`.status.latestTag`

// ImageScan TODO.
type ImageScan struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ImageScanSpec   `json:"spec,omitempty"`
	Status ImageScanStatus `json:"status,omitempty"`
}

// ImageScanSpec TODO.
type ImageScanSpec struct {
	// +nullable
	TagName string `json:"tagName,omitempty"`
	// +nullable
	GitRepoName string `json:"gitrepoName,omitempty"`
	// +nullable
	// +required
	Image string `json:"image,omitempty"`
	// +nullable
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self == '0' || (self.matches('^(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+$') && duration(self) <= duration('2562047h'))",message="must be \"0\" or a sequence of numbers with units (ns, us, µs, ms, s, m, h), at most 2562047h"
	Interval metav1.Duration `json:"interval,omitempty"`
	// +nullable
	SecretRef *corev1.LocalObjectReference `json:"secretRef,omitempty"`
	Suspend   bool                         `json:"suspend,omitempty"`
	Policy    ImagePolicyChoice            `json:"policy"`
}

// ImagePolicyChoice TODO.
type ImagePolicyChoice struct {
	// +nullable
	SemVer *SemVerPolicy `json:"semver,omitempty"`
	// +nullable
	Alphabetical *AlphabeticalPolicy `json:"alphabetical,omitempty"`
}

// SemVerPolicy TODO.
type SemVerPolicy struct {
	// +nullable
	Range string `json:"range"`
}

// AlphabeticalPolicy TODO.
type AlphabeticalPolicy struct {
	// +nullable
	Order string `json:"order,omitempty"`
}

// ImageScanStatus TODO.
type ImageScanStatus struct {
	Conditions         []genericcondition.GenericCondition `json:"conditions,omitempty"`
	LastScanTime       metav1.Time                         `json:"lastScanTime,omitempty"`
	LatestImage        string                              `json:"latestImage,omitempty"`
	LatestTag          string                              `json:"latestTag,omitempty"`
	LatestDigest       string                              `json:"latestDigest,omitempty"`
	ObservedGeneration int64                               `json:"observedGeneration,omitempty"`
	CanonicalImageName string                              `json:"canonicalImageName,omitempty"`
}
