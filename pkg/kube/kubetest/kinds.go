package kubetest

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// HubKinds are the kinds that a hub deals with, without those named.
func HubKinds(without ...string) []Kind {
	all := []Kind{
		kind("", "v1", "Namespace", "namespaces", false),
		kind("", "v1", "Secret", "secrets", true),
		kind("", "v1", "ConfigMap", "configmaps", true),
		kind("", "v1", "ServiceAccount", "serviceaccounts", true),
		kind("apps", "v1", "Deployment", "deployments", true),
		kind("rbac.authorization.k8s.io", "v1", "Role", "roles", true),
		kind("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", true),
		kind("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", false),
		kind("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", false),
		kind("coordination.k8s.io", "v1", "Lease", "leases", true),
		fleetKind("Cluster", "clusters", true),
		fleetKind("ClusterGroup", "clustergroups", true),
		fleetKind("ClusterRegistration", "clusterregistrations", true),
		fleetKind("ClusterRegistrationToken", "clusterregistrationtokens", true),
		fleetKind("Bundle", "bundles", true),
		fleetKind("BundleDeployment", "bundledeployments", true),
		fleetKind("Content", "contents", false),
		fleetKind("GitRepo", "gitrepos", true),
	}
	return slices.DeleteFunc(all, func(k Kind) bool { return slices.Contains(without, k.Kind) })
}

func fleetKind(name, resource string, namespaced bool) Kind {
	return kind("fleet.cattle.io", "v1alpha1", name, resource, namespaced)
}

func kind(group, version, name, resource string, namespaced bool) Kind {
	return Kind{
		GroupVersionKind: schema.GroupVersionKind{Group: group, Version: version, Kind: name},
		Resource:         resource,
		Namespaced:       namespaced,
	}
}
