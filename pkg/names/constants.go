package names

// Namespaces of the hub.
const (
	// DefaultSystemNamespace is where the controller runs unless it is told otherwise.
	DefaultSystemNamespace = "cattle-fleet-system"
	// LegacySystemNamespace is where installations before the rename run.
	LegacySystemNamespace = "fleet-system"
	// DefaultLocalWorkspace holds the Cluster of the hub itself.
	DefaultLocalWorkspace = "fleet-local"
	// DefaultWorkspace holds downstream clusters unless a user chooses another.
	DefaultWorkspace = "fleet-default"
)

// Objects of the hub with fixed names.
const (
	// ControllerConfigMap is the hub's configuration, key ConfigKey.
	ControllerConfigMap = "fleet-controller"
	// ControllerDeployment is the hub's Deployment; its tolerations are copied to the local cluster's agent.
	ControllerDeployment = "fleet-controller"
	// ControllerAccount is the service account of the hub's controller.
	ControllerAccount = "fleet-controller"
	// BootstrapAccount is the account behind the local cluster's kubeconfig.
	BootstrapAccount = "fleet-controller-bootstrap"
	// BootstrapTokenSecret is the long-lived token of BootstrapAccount. The chart makes it; the hub only reads it.
	BootstrapTokenSecret = "fleet-controller-bootstrap-token"
	// RegistrationPolicy is the ValidatingAdmissionPolicy for registration requests, and its binding.
	RegistrationPolicy = "fleet-registration"
	// ProbeAccount asks for a registration in vain, so that the hub sees RegistrationPolicy at work. The chart makes it.
	ProbeAccount = "fleet-provenance-probe"
	// ControllerLease is the hub's leader election.
	ControllerLease = "fleet-controller-lock"
	// LocalCluster is the Cluster of the hub itself.
	LocalCluster = "local"
	// LocalKubeconfigSecret is the kubeconfig of LocalCluster.
	LocalKubeconfigSecret = "local-cluster"
	// RancherLocalKubeconfigSecret is the same where Rancher made the Cluster.
	RancherLocalKubeconfigSecret = "local-kubeconfig"
	// DefaultClusterGroup selects the local cluster.
	DefaultClusterGroup = "default"
	// BootstrapGitRepo is the optional repository of bootstrap.repo.
	BootstrapGitRepo = "bootstrap"
	// BundleDeploymentClusterRole is what a request account may do in its cluster's namespace.
	BundleDeploymentClusterRole = "fleet-bundle-deployment"
	// ContentClusterRole lets request accounts read a Content by its name.
	ContentClusterRole = "fleet-content"
	// ContentClusterRoleBinding gives ContentClusterRole to the group of all request accounts.
	ContentClusterRoleBinding = "fleet-content"
	// BundleDefinition is the CustomResourceDefinition of Bundles.
	BundleDefinition = "bundles.fleet.cattle.io"
	// DeploymentDefinition is the CustomResourceDefinition of BundleDeployments.
	DeploymentDefinition = "bundledeployments.fleet.cattle.io"
	// ConfigKey is the key of the configuration in the ConfigMaps of hub and agent.
	ConfigKey = "config"
)

// Objects of an agent, in its namespace on the downstream cluster.
const (
	AgentConfigMap  = "fleet-agent"
	AgentDeployment = "fleet-agent"
	AgentAccount    = "fleet-agent"
	// DefaultDeployAccount deploys bundles that name no account, where it exists.
	DefaultDeployAccount  = "fleet-default"
	AgentContainer        = "fleet-agent"
	AgentBootstrapSecret  = "fleet-agent-bootstrap"
	AgentCredentialStore  = "fleet-agent"
	AgentIdentitySecret   = "fleet-agent-identity"
	AgentElectionLease    = "fleet-agent"
	AgentNetworkPolicy    = "default-allow-all"
	AgentPriorityClass    = "fleet-agent-priority-class"
	AgentDisruptionBudget = "fleet-agent-pod-disruption-budget"
	// AgentPodLabelKey and AgentPodLabelValue select the agent's pods.
	AgentPodLabelKey   = "app"
	AgentPodLabelValue = "fleet-agent"
	// AgentPreferredNodeLabel marks the nodes that agents prefer.
	AgentPreferredNodeLabel = "fleet.cattle.io/agent"
)

// Objects of one cluster, in its namespace on the hub.
const (
	// HeartbeatLease is renewed by the agent; the hub makes it.
	HeartbeatLease = "fleet-agent"
	// RenewedCredentialSecret carries the next credential until the agent uses it.
	RenewedCredentialSecret = "fleet-agent-credential"
)

// Labels and annotations.
const (
	Prefix = "fleet.cattle.io/"
	// ManagementPrefix is reserved for the manager above the hub.
	ManagementPrefix = "management.cattle.io/"
	// ApplyPrefix begins the labels and annotations by which the apply engine knows the objects of a set.
	ApplyPrefix = "objectset.rio.cattle.io/"

	ManagedLabel                           = Prefix + "managed"
	ClusterLabel                           = Prefix + "cluster"
	ClusterNamespaceLabel                  = Prefix + "cluster-namespace"
	ClusterAnnotation                      = Prefix + "cluster"
	ClusterNamespaceAnnotation             = Prefix + "cluster-namespace"
	ClusterRegistrationAnnotation          = Prefix + "cluster-registration"
	ClusterRegistrationNamespaceAnnotation = Prefix + "cluster-registration-namespace"
	RegistrationTokenLabel                 = Prefix + "registration-token"
	ClusterManagementLabel                 = Prefix + "cluster-management"
	CreatedByAgentPodLabel                 = Prefix + "created-by-agent-pod"
	NonManagedAgentLabel                   = Prefix + "non-managed-agent"
	VersionAnnotation                      = Prefix + "version"
	DisplayNameLabel                       = ManagementPrefix + "cluster-display-name"

	// IdentityAnnotation pins a Cluster to the key that it was first granted with. An agent cannot write it.
	IdentityAnnotation = Prefix + "identity"
	// PlaceAnnotation says, on a Cluster, which of its namespaces on the hub is its own now, and on such a namespace which one
	// it is. A Cluster that was revoked and readmitted has another one than before.
	PlaceAnnotation = Prefix + "place"
	// CloneAnnotation says, on a Cluster, that two agents seem to use its one credential. A person takes it off.
	CloneAnnotation = Prefix + "clone-suspected"
	// LeavingAnnotation says, on a Cluster that is being deleted, since when what bundles brought to the cluster is being removed.
	LeavingAnnotation = Prefix + "leaving"
	// ImportAnnotation records, on a Cluster, the account and the cluster UID of the last import.
	ImportAnnotation = Prefix + "import"
	// AgentUpgradeAnnotation says, on an agent's bundle, which GENERATION it carries and how that came there.
	AgentUpgradeAnnotation = Prefix + "agent-upgrade"
	// AgentBundleLabel is, with the value "true", on the BundleDeployment of a cluster's own agent. The hub alone writes it.
	AgentBundleLabel = Prefix + "agent-bundle"
	// AgentTakenBackAnnotation says, on an agent's Deployment, which GENERATION its agent has taken back, and why.
	AgentTakenBackAnnotation = Prefix + "agent-taken-back"
	// CopiedToAnnotation says, on a copy for the downstreamResources of a bundle, where the agent put it: <namespace>/<name>.
	CopiedToAnnotation = Prefix + "copied-to"
	// CopiedFromAnnotation says, on such a copy in a cluster's namespace, which namespace its source is in.
	CopiedFromAnnotation = Prefix + "copied-from"
	// AgentOwnerAnnotation says, on an agent's namespace of a downstream cluster, whose agent that is.
	AgentOwnerAnnotation = Prefix + "agent-owner"
	// OwnerAnnotation names the owner of an object that lies in another namespace, where no ownerReference may stand.
	OwnerAnnotation = Prefix + "owner"
	// ImportAccountAnnotation is, on a credential Secret and on what gives access to it, the import account that may read it.
	ImportAccountAnnotation = Prefix + "import-account"
	// CredentialDigestAnnotation is the digest of the token that a credential Secret carries.
	CredentialDigestAnnotation = Prefix + "credential-digest"
	// CredentialAccountAnnotation is the UID of the account that it is of.
	CredentialAccountAnnotation = Prefix + "credential-account"
	// CredentialIssuedAnnotation and CredentialExpiresAnnotation are the times, RFC 3339, between which it is good.
	CredentialIssuedAnnotation  = Prefix + "credential-issued"
	CredentialExpiresAnnotation = Prefix + "credential-expires"
)

// Finalizers.
const (
	ClusterFinalizer          = Prefix + "cluster-finalizer"
	BundleFinalizer           = Prefix + "bundle-finalizer"
	BundleDeploymentFinalizer = Prefix + "bundle-deployment-finalizer"
	GitRepoFinalizer          = Prefix + "gitrepo-finalizer"
	HelmOpFinalizer           = Prefix + "helmop-finalizer"
	ScheduleFinalizer         = Prefix + "schedule-finalizer"
)

// Types of Secrets.
const (
	CredentialSecretType = Prefix + "agent-credential"
	ValuesSecretType     = Prefix + "cluster-registration-values"
)

// Sets of the apply engine. A set's name is part of the identity of its objects: a changed name orphans them.
const (
	SetBootstrapData = "fleet-bootstrap-data"
	SetBootstrap     = "fleet-bootstrap"
	SetToken         = "cluster-group-token"
	SetGrant         = "cluster-registration"
	SetReport        = "cluster-registration-report"
	SetManageAgent   = "fleet-manage-agent"
	SetAgent         = "fleet-agent-bootstrap"
)
