package clusterregistration

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// Bounds of the options that an agent may bring for the Cluster that is created for it.
const (
	maxOptionItems = 64
	maxOptionValue = 4096
)

// clusterName is the name of the Cluster that a request creates.
func clusterName(r *fleet.ClusterRegistration, token *fleet.ClusterRegistrationToken) string {
	if token != nil && token.Spec.ClusterName != "" {
		return token.Spec.ClusterName
	}
	return names.RegisteredCluster(r.Spec.ClientID)
}

// newCluster is the Cluster of an agent that joins by itself. Finalizer, labels and pin are set as it is created: each
// would cost a write of its own later, and a Cluster without its pin would be open for a moment.
func newCluster(in input) *fleet.Cluster {
	r := in.request
	c := &fleet.Cluster{
		ObjectMeta: metav1.ObjectMeta{
			Name:       clusterName(r, in.token),
			Namespace:  r.Namespace,
			Labels:     clusterLabels(in),
			Finalizers: []string{names.ClusterFinalizer},
		},
		Spec: fleet.ClusterSpec{ClientID: r.Spec.ClientID},
	}
	c.Labels[names.ClusterLabel] = names.LabelValue(c.Name)
	if pin := boundPin(r); pin != nil {
		c.Annotations = map[string]string{names.IdentityAnnotation: pin.Annotation()}
	}
	if r.Spec.Agent != nil && bounded(r.Spec.Agent.Options) {
		seed(&c.Spec, r.Spec.Agent.Options)
	}
	return c
}

// clusterLabels are what an agent may say of its cluster: never what is the hub's to say, and only what the token lets.
func clusterLabels(in input) map[string]string {
	if in.config.IgnoreClusterRegistrationLabels {
		return map[string]string{}
	}
	labels := registration.SanitizeLabels(in.request.Spec.ClusterLabels)
	for key := range labels {
		if !labelAllowed(in, key) {
			delete(labels, key)
		}
	}
	return labels
}

func labelAllowed(in input, key string) bool {
	if key == names.CreatedByAgentPodLabel {
		return true
	}
	if in.token == nil || in.token.Spec.AllowedLabels == nil {
		return !in.config.Registration.StrictLabels
	}
	return slices.Contains(*in.token.Spec.AllowedLabels, key)
}

func bounded(o *fleet.AgentOptions) bool {
	if o == nil || len(o.EnvVars) > maxOptionItems || len(o.Tolerations) > maxOptionItems || len(o.PullSecrets) > maxOptionItems {
		return false
	}
	for _, e := range o.EnvVars {
		if len(e.Name) > maxOptionValue || len(e.Value) > maxOptionValue {
			return false
		}
	}
	return true
}

// seed takes over how the agent was installed, so that its own bundle does not take that away again.
func seed(spec *fleet.ClusterSpec, o *fleet.AgentOptions) {
	spec.AgentEnvVars = o.EnvVars
	spec.AgentTolerations = o.Tolerations
	spec.AgentAffinity = o.Affinity
	spec.AgentResources = o.Resources
	spec.HostNetwork = o.HostNetwork
	if len(o.PullSecrets) > 0 {
		spec.AgentPullSecrets = &o.PullSecrets
	}
}

func owner(r *fleet.ClusterRegistration) string {
	return names.OwnerRef{Kind: "ClusterRegistration", Namespace: r.Namespace, Name: r.Name, UID: string(r.UID)}.String()
}

// grantMeta marks what a grant makes: whose it is, and for which cluster.
func grantMeta(r *fleet.ClusterRegistration, cluster *fleet.Cluster, namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace,
		Name:      name,
		Labels:    map[string]string{names.ManagedLabel: "true"},
		Annotations: map[string]string{
			names.OwnerAnnotation:                        owner(r),
			names.ClusterAnnotation:                      cluster.Name,
			names.ClusterNamespaceAnnotation:             cluster.Namespace,
			names.ClusterRegistrationAnnotation:          r.Name,
			names.ClusterRegistrationNamespaceAnnotation: r.Namespace,
		},
	}
}

func account(r *fleet.ClusterRegistration) string { return names.Account(r.Name, string(r.UID)) }

func subjects(in input) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: in.namespaces.Agents, Name: account(in.request)}}
}

// grantObjects are the request account and its rights in the cluster's own namespace. What all accounts may read alike is
// bound once to the group of them.
func grantObjects(in input, cluster *fleet.Cluster) []runtime.Object {
	r := in.request
	return []runtime.Object{
		&corev1.ServiceAccount{ObjectMeta: grantMeta(r, cluster, in.namespaces.Agents, account(r))},
		&rbacv1.RoleBinding{
			ObjectMeta: grantMeta(r, cluster, cluster.Status.Namespace, r.Name),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: names.BundleDeploymentClusterRole},
			Subjects:   subjects(in),
		},
	}
}

// reportObjects let the request account report in the status of its own Cluster.
func reportObjects(in input, cluster *fleet.Cluster) []runtime.Object {
	r := in.request
	return []runtime.Object{
		&rbacv1.Role{
			ObjectMeta: grantMeta(r, cluster, r.Namespace, r.Name),
			Rules: []rbacv1.PolicyRule{{
				APIGroups:     []string{fleet.SchemeGroupVersion.Group},
				Resources:     []string{"clusters/status"},
				ResourceNames: []string{cluster.Name},
				Verbs:         []string{"patch"},
			}},
		},
		&rbacv1.RoleBinding{
			ObjectMeta: grantMeta(r, cluster, r.Namespace, r.Name),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: r.Name},
			Subjects:   subjects(in),
		},
	}
}

// importAccountOf is the account behind the token of a request.
func importAccountOf(in input) string { return names.Account(in.token.Name, string(in.token.UID)) }
