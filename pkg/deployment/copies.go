package deployment

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// CopyLabel marks, with the value "true", what was copied into a cluster's namespace for its agent to take. It belongs to
// all deployments there that name it.
const CopyLabel = names.Prefix + "downstream-copy"

// Kinds of what can be copied, in lower case.
const (
	SecretKind    = "secret"
	ConfigMapKind = "configmap"
)

// Copy names an object that is copied. Its kind is in lower case.
type Copy struct{ Kind, Name string }

// CopyOf is the copy that an entry of downstreamResources names.
func CopyOf(r fleet.DownstreamResource) Copy {
	return Copy{Kind: strings.ToLower(r.Kind), Name: r.Name}
}

// Copies are the objects that a deployment needs, for the version on the cluster and for the one that waits.
func Copies(bd *fleet.BundleDeployment) map[Copy]bool {
	needed := map[Copy]bool{}
	for _, list := range [][]fleet.DownstreamResource{bd.Spec.Options.DownstreamResources, bd.Spec.StagedOptions.DownstreamResources} {
		for _, r := range list {
			needed[CopyOf(r)] = true
		}
	}
	return needed
}

// CopyProblem says why an object cannot be copied, whatever is in it; empty where it can.
func CopyProblem(c Copy) string {
	switch {
	case c.Name == names.RenewedCredentialSecret:
		return fmt.Sprintf("the name %s is taken, rename the object", c.Name)
	case c.Kind != SecretKind && c.Kind != ConfigMapKind:
		return fmt.Sprintf("kind %q cannot be copied, Secret and ConfigMap can", c.Kind)
	}
	return ""
}

// SourceProblem says why a Secret is never copied to a cluster, whatever its name; empty where it may be. kubeconfigOf is the
// Cluster whose kubeconfig it is, if any. Who may make a bundle need not be one who may read Secrets: what gives access to
// the hub, to a cluster, or is another bundle's, goes nowhere on his word.
func SourceProblem(secret *corev1.Secret, kubeconfigOf string) string {
	refuse := func(why string) string {
		return fmt.Sprintf("secret %s/%s is not copied, since it %s: name another Secret with only what the cluster needs, or remove the entry",
			secret.Namespace, secret.Name, why)
	}
	switch {
	case isReserved(secret.Type):
		return refuse(fmt.Sprintf("is of type %s", secret.Type))
	case kubeconfigOf != "":
		return refuse(fmt.Sprintf("is the kubeconfig (spec.kubeConfigSecret) of Cluster %s", kubeconfigOf))
	}
	return ""
}

// isReserved are the types of Secrets that Fleet makes and trusts, and of those by which accounts log in.
func isReserved(t corev1.SecretType) bool {
	return strings.HasPrefix(string(t), names.Prefix) ||
		t == corev1.SecretTypeServiceAccountToken || t == corev1.SecretTypeBootstrapToken
}

// IsCopy says whether an object of a cluster's namespace was copied there.
func IsCopy(object metav1.Object) bool { return object.GetLabels()[CopyLabel] == "true" }

// HoldsValues says whether a Secret of a cluster's namespace is that with the values of a deployment. The type of a copy is
// its source's, and proves nothing.
func HoldsValues(secret *corev1.Secret) bool {
	return secret.Type == fleet.SecretTypeBundleDeploymentOptions && !IsCopy(secret)
}

// CopiesLeft are the copies that a deployment needed, and of the deployments that are now in its namespace none does.
func CopiesLeft(before *fleet.BundleDeployment, now []fleet.BundleDeployment) map[Copy]bool {
	left := Copies(before)
	for i := range now {
		for c := range Copies(&now[i]) {
			delete(left, c)
		}
	}
	return left
}

// CopyMissing says that a cluster waits for what is to be copied to it from a namespace.
func CopyMissing(c Copy, namespace string) string {
	return fmt.Sprintf("waiting for %s %s/%s", c.Kind, namespace, c.Name)
}

// largestNumber is the largest that JSON holds exactly in every program.
const largestNumber = 1<<53 - 1

// CopiesGeneration stands for the content of Secrets and ConfigMaps that are copied: it changes with it, and an agent that
// sees another number takes them anew. It is not counted up, so that no write that was cut off in the middle can leave it
// as it was. It is 0 for none.
func CopiesGeneration(objects []runtime.Object) int64 {
	if len(objects) == 0 {
		return 0
	}
	digest := fnv.New64a()
	add := func(parts ...string) {
		for _, part := range parts {
			var length [8]byte
			binary.BigEndian.PutUint64(length[:], uint64(len(part)))
			_, _ = digest.Write(length[:])
			_, _ = digest.Write([]byte(part))
		}
	}
	for _, obj := range objects {
		switch obj := obj.(type) {
		case *corev1.Secret:
			add("Secret", obj.Name, string(obj.Type))
			for _, key := range slices.Sorted(maps.Keys(obj.Data)) {
				add(key, string(obj.Data[key]))
			}
		case *corev1.ConfigMap:
			add("ConfigMap", obj.Name)
			for _, key := range slices.Sorted(maps.Keys(obj.Data)) {
				add(key, obj.Data[key])
			}
			for _, key := range slices.Sorted(maps.Keys(obj.BinaryData)) {
				add(key, string(obj.BinaryData[key]))
			}
		}
	}
	return int64(digest.Sum64()&largestNumber) | 1 // never 0, which means none
}
