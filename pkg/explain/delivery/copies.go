package delivery

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/deployment"
	"github.com/rancher/fleet/pkg/registration"
	"github.com/rancher/fleet/pkg/target"
)

// maxCopied bounds how many objects are read to be compared.
const maxCopied = 100

// Copied are the Secrets and ConfigMaps of the bundle's namespace that it copies to some cluster, sorted. Those that can
// never be copied are not among them.
func Copied(facts Facts) []deployment.Copy {
	found := map[deployment.Copy]bool{}
	add := func(list []fleet.DownstreamResource) {
		for _, r := range list {
			if c := deployment.CopyOf(r); deployment.CopyProblem(c) == "" {
				found[c] = true
			}
		}
	}
	add(facts.Bundle.Spec.DownstreamResources)
	for i := range facts.Bundle.Spec.Targets {
		add(facts.Bundle.Spec.Targets[i].DownstreamResources)
	}
	all := slices.SortedFunc(maps.Keys(found), func(a, b deployment.Copy) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
	return all[:min(len(all), maxCopied)]
}

// copies is what is copied to a target: the number that stands for it, and why it cannot be copied. known says that all of
// it was read.
func (l Look) copies(t target.Target) (generation int64, missing string, known bool) {
	var objects []runtime.Object
	for _, r := range t.Options.DownstreamResources {
		c := deployment.CopyOf(r)
		if problem := deployment.CopyProblem(c); problem != "" {
			return 0, problem, true
		}
		obj, looked := l.facts.Sources[c]
		switch {
		case !looked:
			return 0, "", false
		case obj == nil:
			return 0, deployment.CopyMissing(c, l.facts.Bundle.Namespace), true
		}
		if secret, is := obj.(*corev1.Secret); is {
			if problem := deployment.SourceProblem(secret, l.kubeconfigOf(secret)); problem != "" {
				return 0, problem, true
			}
		}
		objects = append(objects, obj)
	}
	return deployment.CopiesGeneration(objects), "", true
}

// kubeconfigOf is the Cluster, of those that are known, that names a Secret as its kubeconfig.
func (l Look) kubeconfigOf(secret *corev1.Secret) string {
	for _, c := range l.facts.Clusters {
		if c.Spec.KubeConfigSecret == secret.Name && registration.KubeconfigSecretNamespace(c) == secret.Namespace {
			return c.Namespace + "/" + c.Name
		}
	}
	return ""
}

// copyNames are what is copied to a target, for people.
func copyNames(t target.Target) []string {
	var list []string
	for _, r := range t.Options.DownstreamResources {
		list = append(list, deployment.CopyOf(r).Kind+" "+r.Name)
	}
	return list
}
