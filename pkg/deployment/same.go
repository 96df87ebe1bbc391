package deployment

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// Same says whether a deployment is as it should be: nothing has to be written then.
func Same(have, want *fleet.BundleDeployment) bool {
	return equality.Semantic.DeepEqual(have.Spec, want.Spec) &&
		equality.Semantic.DeepEqual(have.Labels, want.Labels) &&
		equality.Semantic.DeepEqual(have.Finalizers, want.Finalizers)
}

// SameSecret says the same of the Secret with its values. What else is in it is not for us to remove. CurrentAnnotation does
// not count: while the values stay as they are, the deployment's digest is their proof.
func SameSecret(have, want *corev1.Secret) bool {
	for key, value := range want.Labels {
		if have.Labels[key] != value {
			return false
		}
	}
	return have.Type == want.Type && ValuesIn(have).equal(ValuesIn(want))
}

// Contents are the names of the Contents that a deployment needs: that of the version on the cluster, and that of the one
// that waits for its turn.
func Contents(bd *fleet.BundleDeployment) []string {
	var all []string
	add := func(name string) {
		if name != "" && (len(all) == 0 || all[0] != name) {
			all = append(all, name)
		}
	}
	add(contentOf(bd.Spec.DeploymentID))
	add(contentOf(bd.Spec.StagedDeploymentID))
	if label := bd.Labels[fleet.ContentNameLabel]; len(all) == 0 {
		add(label)
	}
	return all
}

// contentOf is the first part of a deployment's ID.
func contentOf(id string) string {
	name, _, _ := strings.Cut(id, ":")
	return name
}
