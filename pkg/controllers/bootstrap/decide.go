package bootstrap

import (
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
)

// Keys of a kubeconfig secret.
const (
	keyKubeconfig = "value"
	keyServerURL  = "apiServerURL"
	keyServerCA   = "apiServerCA"
)

// labelName is the label that ClusterGroup "default" selects the local cluster by.
const labelName = "name"

// input is what is known when the hub is to register itself.
type input struct {
	config config.Bootstrap
	// server and ca are how the hub's API server is reached; ca may be empty.
	server string
	ca     []byte
	// credential is for that server, empty where there is none yet; missing then says what to do about it.
	credential credential
	missing    string
	// tolerations are those of the hub's own pod.
	tolerations []corev1.Toleration
	// workspace says whether the namespace exists; secret is the kubeconfig secret, nil where it does not.
	workspace bool
	secret    *corev1.Secret
}

// decision is what should be.
type decision struct {
	// namespace and secret are to be created or written, nil where all is well.
	namespace *corev1.Namespace
	secret    *corev1.Secret
	objects   []runtime.Object
	// waiting says what is missing, empty where nothing is.
	waiting string
}

func decide(in input) (decision, error) {
	d := decision{objects: objects(in)}
	if !in.workspace {
		d.namespace = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: in.config.Namespace}}
	}
	if in.credential.empty() {
		d.waiting = in.missing
		return d, nil
	}
	kubeconfig, err := in.credential.kubeconfig(in.server, in.ca)
	if err != nil {
		return d, err
	}
	d.secret = secret(in, kubeconfig)
	return d, nil
}

// secret is the kubeconfig secret as it should be, nil where it is so already.
func secret(in input, kubeconfig []byte) *corev1.Secret {
	want := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: names.LocalKubeconfigSecret, Namespace: in.config.Namespace}}
	if in.secret != nil {
		want = in.secret.DeepCopy()
		kube.DropObjectSet(want)
	}
	want.Labels = with(want.Labels, names.ManagedLabel, "true")
	if want.Data == nil {
		want.Data = map[string][]byte{}
	}
	want.Data[keyKubeconfig] = kubeconfig
	want.Data[keyServerURL] = []byte(in.server)
	delete(want.Data, keyServerCA)
	if len(in.ca) > 0 {
		want.Data[keyServerCA] = in.ca
	}
	if in.secret != nil && equality.Semantic.DeepEqual(in.secret, want) {
		return nil
	}
	return want
}

func with(labels map[string]string, key, value string) map[string]string {
	if labels == nil {
		labels = map[string]string{}
	}
	labels[key] = value
	return labels
}

// objects carry no managed label: users see and select them.
func objects(in input) []runtime.Object {
	labels := map[string]string{labelName: names.LocalCluster}
	maps.Copy(labels, in.config.ClusterLabels)
	objs := []runtime.Object{
		&fleet.Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: names.LocalCluster, Namespace: in.config.Namespace, Labels: labels},
			Spec: fleet.ClusterSpec{
				KubeConfigSecret: names.LocalKubeconfigSecret,
				AgentNamespace:   in.config.AgentNamespace,
				AgentTolerations: in.tolerations,
			},
		},
		&fleet.ClusterGroup{
			ObjectMeta: metav1.ObjectMeta{Name: names.DefaultClusterGroup, Namespace: in.config.Namespace},
			Spec: fleet.ClusterGroupSpec{
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{labelName: names.LocalCluster}},
			},
		},
	}
	if in.config.Repo == "" {
		return objs
	}
	return append(objs, &fleet.GitRepo{
		ObjectMeta: metav1.ObjectMeta{Name: names.BootstrapGitRepo, Namespace: in.config.Namespace},
		Spec: fleet.GitRepoSpec{
			Repo:             in.config.Repo,
			Branch:           in.config.Branch,
			ClientSecretName: in.config.Secret,
			Paths:            paths(in.config.Paths),
		},
	})
}

// paths reads a list that is separated by commas.
func paths(list string) []string {
	var paths []string
	for _, path := range strings.Split(list, ",") {
		if path = strings.TrimSpace(path); path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

// missingToken says what to do about a bootstrap account whose Secret gives no token.
func missingToken(namespace string, secret *corev1.Secret) string {
	name := namespace + "/" + names.BootstrapTokenSecret
	if secret == nil {
		return fmt.Sprintf("Secret %s is missing: the hub's chart makes it (bootstrap.enabled), of type %s for ServiceAccount %s",
			name, corev1.SecretTypeServiceAccountToken, names.BootstrapAccount)
	}
	if !isTokenOf(secret) {
		return fmt.Sprintf("Secret %s has to be of type %s and annotation %s=%s", name,
			corev1.SecretTypeServiceAccountToken, corev1.ServiceAccountNameKey, names.BootstrapAccount)
	}
	return fmt.Sprintf("Secret %s has no token yet: kube-controller-manager fills it in", name)
}

func isTokenOf(secret *corev1.Secret) bool {
	return secret.Type == corev1.SecretTypeServiceAccountToken &&
		secret.Annotations[corev1.ServiceAccountNameKey] == names.BootstrapAccount
}
