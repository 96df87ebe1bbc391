package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// UnmarshalJSON decodes an ImageScan and takes the null that the schema allows for spec.interval. A Duration refuses
// null, and since informers decode whole lists, one such object would hide all others from the controllers.
func (in *ImageScan) UnmarshalJSON(data []byte) error {
	type nullable struct {
		*ImageScanSpec `json:",inline"`
		// Interval hides the field of that name in the spec.
		Interval *metav1.Duration `json:"interval"`
	}
	out := struct {
		*metav1.TypeMeta `json:",inline"`
		Metadata         *metav1.ObjectMeta `json:"metadata"`
		Spec             nullable           `json:"spec"`
		Status           *ImageScanStatus   `json:"status"`
	}{&in.TypeMeta, &in.ObjectMeta, nullable{ImageScanSpec: &in.Spec}, &in.Status}
	if err := utiljson.Unmarshal(data, &out); err != nil {
		return err
	}
	if out.Spec.Interval != nil {
		in.Spec.Interval = *out.Spec.Interval
	}
	return nil
}
