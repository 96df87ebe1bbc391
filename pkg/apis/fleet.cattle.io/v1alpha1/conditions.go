package v1alpha1

// Types of the conditions in the status of the group's kinds.
const (
	// BundleConditionReady is True when the bundle is ready on all of its clusters.
	BundleConditionReady = "Ready"

	// BundleDeploymentConditionReady is True when the resources on the cluster are ready and unmodified.
	BundleDeploymentConditionReady = "Ready"
	// BundleDeploymentConditionInstalled is True when the Helm release is installed.
	BundleDeploymentConditionInstalled = "Installed"
	// BundleDeploymentConditionDeployed is False when the last attempt to deploy failed.
	BundleDeploymentConditionDeployed = "Deployed"
	// BundleDeploymentConditionMonitored is False when the agent could not judge the resources.
	BundleDeploymentConditionMonitored = "Monitored"

	// ClusterConditionReady is True when all bundles of the cluster are ready.
	ClusterConditionReady = "Ready"
	// ClusterConditionProcessed is False when the hub could not prepare or count the cluster.
	ClusterConditionProcessed = "Processed"
	// ClusterConditionImported is True when the hub has installed the agent through the kubeconfig secret.
	ClusterConditionImported = "Imported"
	// ClusterConditionReconciled is False when the hub could not write the agent's bundle.
	ClusterConditionReconciled = "Reconciled"
	// ClusterConditionRegistered is True once the cluster's agent has used a credential that the hub granted.
	ClusterConditionRegistered = "Registered"
	// ClusterConditionAgentConnected is True while the agent renews its heartbeat in time.
	ClusterConditionAgentConnected = "AgentConnected"
	// ClusterConditionCredentialValid is False when the agent's credential has ended, is refused or cannot be renewed.
	ClusterConditionCredentialValid = "CredentialValid"
	// ClusterConditionRevoked is True when nothing is left of what the agent of a revoked cluster was given.
	ClusterConditionRevoked = "Revoked"
	// ClusterConditionUnique is False while another Cluster leads to the same cluster.
	ClusterConditionUnique = "Unique"
	// ClusterConditionAgentUpgraded is False while a new agent cannot take over from the old one.
	ClusterConditionAgentUpgraded = "AgentUpgraded"

	// ClusterGroupConditionReady is True when all clusters of the group, and all of their bundles, are ready.
	ClusterGroupConditionReady = "Ready"
	// ClusterGroupConditionProcessed is False when the group's clusters could not be counted.
	ClusterGroupConditionProcessed = "Processed"

	// RegistrationConditionGranted is True when the request has led to an account and its permissions.
	RegistrationConditionGranted = "Granted"
	// RegistrationConditionCredentialReady is True when the credential of the grant lies ready for the agent.
	RegistrationConditionCredentialReady = "CredentialReady"
	// RegistrationConditionCredentialUsed is True once the agent has connected with that credential.
	RegistrationConditionCredentialUsed = "CredentialUsed"

	// TokenConditionReady is True when the token's secret can be used to register.
	TokenConditionReady = "Ready"
	// TokenConditionProvenanceEnforced is False when the hub could not prove that a request names its own token.
	TokenConditionProvenanceEnforced = "ProvenanceEnforced"
	// TokenConditionRequestsAccepted is False while so many requests of the token lead to nothing that no more are kept.
	TokenConditionRequestsAccepted = "RequestsAccepted"

	// GitRepoAcceptedCondition is False when the GitRepo's spec was refused.
	GitRepoAcceptedCondition = "Accepted"

	// HelmOpAcceptedCondition is False when the HelmOp's spec was refused.
	HelmOpAcceptedCondition = "Accepted"
	// HelmOpPolledCondition is False when the last look for a new chart version failed.
	HelmOpPolledCondition = "Polled"

	// ImageScanScanCondition is False when the registry could not be scanned.
	ImageScanScanCondition = "ImageScanned"
	// ImageScanSyncCondition is False when the result could not be committed.
	ImageScanSyncCondition = "ImageSynced"
)
