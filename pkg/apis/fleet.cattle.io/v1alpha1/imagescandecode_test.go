package v1alpha1

import (
	"reflect"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/serializer"
)

func TestAnImageScanWithoutIntervalDoesNotHideTheOthers(t *testing.T) {
	list := `{"apiVersion":"fleet.cattle.io/v1alpha1","kind":"ImageScanList","metadata":{"resourceVersion":"7"},"items":[
		{"metadata":{"name":"null"},"spec":{"image":"a","interval":null},"status":{"latestTag":"1"}},
		{"metadata":{"name":"set","labels":{"a":"b"}},"spec":{"image":"b","interval":"5m","suspend":true,"policy":{"semver":{"range":"1.x"}}}}]}`
	decoder := serializer.NewCodecFactory(newScheme(t)).UniversalDeserializer()
	decoded, _, err := decoder.Decode([]byte(list), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	scans := decoded.(*ImageScanList)
	if len(scans.Items) != 2 || scans.ResourceVersion != "7" {
		t.Fatalf("got %+v", scans)
	}
	without, with := scans.Items[0], scans.Items[1]
	if without.Name != "null" || without.Spec.Image != "a" || without.Spec.Interval.Duration != 0 || without.Status.LatestTag != "1" {
		t.Errorf("got %+v", without)
	}
	if with.Name != "set" || with.Labels["a"] != "b" || with.Spec.Image != "b" || with.Spec.Interval.Duration != 5*time.Minute ||
		!with.Spec.Suspend || with.Spec.Policy.SemVer == nil || with.Spec.Policy.SemVer.Range != "1.x" {
		t.Errorf("got %+v", with)
	}
	if _, err := decode(reflect.TypeFor[ImageScan](), `{"spec":{"interval":"soon"}}`); err == nil {
		t.Error("an interval that is no duration was accepted")
	}
}
