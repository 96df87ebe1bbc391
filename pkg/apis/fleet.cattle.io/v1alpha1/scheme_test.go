package v1alpha1

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kinds are the kinds of the group.
var kinds = []string{
	"Bundle", "BundleDeployment", "BundleNamespaceMapping", "Cluster", "ClusterGroup", "ClusterRegistration",
	"ClusterRegistrationToken", "Content", "GitRepo", "GitRepoRestriction", "HelmOp", "ImageScan", "Policy", "Schedule",
}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
}

func TestAddToSchemeAddsEveryKindAndItsList(t *testing.T) {
	scheme := newScheme(t)
	for _, kind := range kinds {
		for _, kind := range []string{kind, kind + "List"} {
			if !scheme.Recognizes(schema.GroupVersionKind{Group: "fleet.cattle.io", Version: "v1alpha1", Kind: kind}) {
				t.Errorf("the scheme does not know %s", kind)
			}
		}
	}
}

func TestAddToSchemeAddsWhatOthersRegister(t *testing.T) {
	before := len(SchemeBuilder)
	t.Cleanup(func() { SchemeBuilder = SchemeBuilder[:before] })
	InternalSchemeBuilder.Register(&metav1.PartialObjectMetadata{})

	if !newScheme(t).Recognizes(SchemeGroupVersion.WithKind("PartialObjectMetadata")) {
		t.Error("a type registered with InternalSchemeBuilder is not added by AddToScheme")
	}
}

// Errors of the API name the resource with its group.
func TestGroupResourceHasTheGroup(t *testing.T) {
	if got := GroupResource(ClusterResourceNamePlural).String(); got != "clusters.fleet.cattle.io" {
		t.Errorf("got %s", got)
	}
	for kind, resource := range map[string]string{
		PolicyResourceName: "policies", ContentResourceName: ContentResourceNamePlural, BundleDeploymentResourceName: BundleDeploymentResourceNamePlural,
		ClusterRegistrationResourceName: ClusterRegistrationResourceNamePlural, ClusterResourceName: ClusterResourceNamePlural,
	} {
		if kind != resource {
			t.Errorf("the generated plural is %s, want %s", kind, resource)
		}
	}
}
