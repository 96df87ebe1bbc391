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

// ImageScan looks for new tags of an image, to write them to a GitRepo.
type ImageScan struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Which image and which tags.
	Spec ImageScanSpec `json:"spec,omitempty"`
	// What was found.
	Status ImageScanStatus `json:"status,omitempty"`
}

// ImageScanSpec is which image is looked at and which tag is chosen.
type ImageScanSpec struct {
	// The name by which files in the repository refer to this scan.
	// +nullable
	TagName string `json:"tagName,omitempty"`
	// The GitRepo that results are written to.
	// +nullable
	GitRepoName string `json:"gitrepoName,omitempty"`
	// The image, without a tag.
	// +nullable
	// +required
	Image string `json:"image,omitempty"`
	// How often its registry is asked.
	// +kubebuilder:validation:Type=string
	// +nullable
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self == '0' || (self.matches('^(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|ms|s|m|h))+$') && duration(self) <= duration('2562047h'))",message="must be \"0\" or a sequence of numbers with units (ns, us, µs, ms, s, m, h), at most 2562047h"
	Interval metav1.Duration `json:"interval,omitempty"`
	// The secret with the credentials of the registry.
	// +nullable
	SecretRef *corev1.LocalObjectReference `json:"secretRef,omitempty"`
	// Stops the scan.
	Suspend bool `json:"suspend,omitempty"`
	// Which of the tags is chosen.
	Policy ImagePolicyChoice `json:"policy"`
}

// ImagePolicyChoice is how one of several tags is chosen. Only one of its fields may be set.
type ImagePolicyChoice struct {
	// Tags are versions, and the highest in a range is chosen.
	// +nullable
	SemVer *SemVerPolicy `json:"semver,omitempty"`
	// Tags are words, and the last in their order is chosen.
	// +nullable
	Alphabetical *AlphabeticalPolicy `json:"alphabetical,omitempty"`
}

// SemVerPolicy chooses the highest version.
type SemVerPolicy struct {
	// The range that the version must be in.
	// +nullable
	Range string `json:"range"`
}

// AlphabeticalPolicy chooses the last word.
type AlphabeticalPolicy struct {
	// The order: asc, or desc.
	// +nullable
	Order string `json:"order,omitempty"`
}

// ImageScanStatus is what a scan has found.
type ImageScanStatus struct {
	// ImageScanned and ImageSynced.
	Conditions []genericcondition.GenericCondition `json:"conditions,omitempty"`
	// When the registry was asked last.
	LastScanTime metav1.Time `json:"lastScanTime,omitempty"`
	// The image with the tag that was chosen.
	LatestImage string `json:"latestImage,omitempty"`
	// The tag that was chosen.
	LatestTag string `json:"latestTag,omitempty"`
	// The digest of that image.
	LatestDigest string `json:"latestDigest,omitempty"`
	// The generation of the spec that this status is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// The image with its registry, as the scan resolved it.
	CanonicalImageName string `json:"canonicalImageName,omitempty"`
}
