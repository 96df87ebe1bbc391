package v1alpha1

// Prefixes of the keys of labels and annotations.
const (
	// FleetLabelPrefix begins the keys that belong to Fleet.
	FleetLabelPrefix = "fleet.cattle.io/"
	// ManagementLabelPrefix begins the keys that belong to the manager above the hub.
	ManagementLabelPrefix = "management.cattle.io/"
)

// Labels and annotations on objects of the hub and of downstream clusters.
const (
	// ManagedLabel marks, with the value "true", what Fleet made.
	ManagedLabel = "fleet.cattle.io/managed"
	// ClusterLabel names the Cluster that an object belongs to.
	ClusterLabel = "fleet.cattle.io/cluster"
	// ClusterAnnotation names the Cluster that a namespace or an account was made for.
	ClusterAnnotation = "fleet.cattle.io/cluster"
	// ClusterNamespaceLabel is the namespace of that Cluster, on a BundleDeployment.
	ClusterNamespaceLabel = "fleet.cattle.io/cluster-namespace"
	// ClusterNamespaceAnnotation is the namespace of that Cluster, on the cluster's own namespace.
	ClusterNamespaceAnnotation = "fleet.cattle.io/cluster-namespace"
	// ClusterManagementLabel, when it is not empty, hands a Cluster or a request to another manager.
	ClusterManagementLabel = "fleet.cattle.io/cluster-management"
	// ClusterRegistrationAnnotation names the request that an account was made for.
	ClusterRegistrationAnnotation = "fleet.cattle.io/cluster-registration"
	// ClusterRegistrationNamespaceAnnotation is the namespace of that request.
	ClusterRegistrationNamespaceAnnotation = "fleet.cattle.io/cluster-registration-namespace"
	// RegistrationTokenLabel names the token that a request was made with.
	RegistrationTokenLabel = "fleet.cattle.io/registration-token"
	// CreatedByAgentPodLabel is the pod that registered a cluster. It is for people who search for an error.
	CreatedByAgentPodLabel = "fleet.cattle.io/created-by-agent-pod"
	// CreatedByUserIDLabel is the user who made an object. It is for logs only.
	CreatedByUserIDLabel = "fleet.cattle.io/created-by-user-id"

	// BundleLabel names the Bundle that a BundleDeployment comes from.
	BundleLabel = "fleet.cattle.io/bundle-name"
	// BundleNamespaceLabel is the namespace of that Bundle.
	BundleNamespaceLabel = "fleet.cattle.io/bundle-namespace"
	// RepoLabel names the GitRepo that a Bundle or a BundleDeployment comes from.
	RepoLabel = "fleet.cattle.io/repo-name"
	// HelmOpLabel names the HelmOp that a Bundle or a BundleDeployment comes from.
	HelmOpLabel = "fleet.cattle.io/fleet-helm-name"
	// CommitLabel is the commit that a Bundle or a BundleDeployment comes from.
	CommitLabel = "fleet.cattle.io/commit"
	// ContentNameLabel names the Content that a BundleDeployment refers to.
	ContentNameLabel = "fleet.cattle.io/content-name"
	// BundleDeploymentOwnershipLabel names the BundleDeployment that a copied object on a downstream cluster belongs to.
	BundleDeploymentOwnershipLabel = "fleet.cattle.io/bundledeployment"
	// InternalSecretLabel marks, with the value "true", secrets that were cloned for a bundle.
	InternalSecretLabel = "fleet.cattle.io/bundle-internal-secret"
)

// Types of the secrets that accompany a bundle.
const (
	// SecretTypeBundleValues holds the Helm values of a Bundle.
	SecretTypeBundleValues = "fleet.cattle.io/bundle-values/v1alpha1"
	// SecretTypeBundleDeploymentOptions holds the Helm values of a BundleDeployment.
	SecretTypeBundleDeploymentOptions = "fleet.cattle.io/bundle-deployment/v1alpha1"
	// SecretTypeOCIStorage holds the access to the OCI registry that stores a bundle.
	SecretTypeOCIStorage = "fleet.cattle.io/bundle-oci-storage/v1alpha1"
	// SecretTypeHelmOpsAccess holds the access to the Helm repository of a HelmOp.
	SecretTypeHelmOpsAccess = "fleet.cattle.io/bundle-helmops-access/v1alpha1"
)

// Plural names of kinds, as they stand in paths and RBAC rules.
const (
	BundleDeploymentResourceNamePlural    = "bundledeployments"
	ClusterResourceNamePlural             = "clusters"
	ClusterRegistrationResourceNamePlural = "clusterregistrations"
	ContentResourceNamePlural             = "contents"
)

const (
	// LocalClusterName is the name of the Cluster of the hub itself.
	LocalClusterName = "local"
	// MaxHelmReleaseNameLen is Helm's limit for the name of a release.
	MaxHelmReleaseNameLen = 53
	// IgnoreOp is the operation of a compare patch that drops an object from the comparison.
	IgnoreOp = "ignore"
)
