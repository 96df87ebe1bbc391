package explain

// grantRemedies say, for each reason of condition Granted, what ends it. A reason that is not here is one of a later hub;
// its message tells.
var grantRemedies = map[string]string{
	"InvalidRequest":          "the agent has to send another request: correct what the message names in its chart, or take an agent of the hub's version",
	"TokenUnknown":            "the agent needs the values of a new token: `fleet token create`, `fleet token values`, then upgrade the agent's chart with them",
	"WaitingForImportAccount": "the hub goes on by itself as soon as the account of the token exists",
	"RequesterMismatch":       "the request does not come from the account that it names: deny it, or give the agent the values of a token of its own",
	"TokenUsedUp":             "the token granted as many requests as it may: raise its spec.maxUses, or give the agent the values of another token",
	"TokenNotForThisCluster":  "the agent needs the values of a token that is for this cluster",
	"Deleted":                 "the request goes as soon as what it was granted is taken back",
	"AccountConflict":         "the agent asks again by itself under another name",
	"ClusterNameTaken":        "delete the Cluster that has the name, or give the agent another clientID",
	"ClusterRefused":          "correct what the API server's answer names, in the agent's chart or on the hub; the message says whether the request has to be deleted then",
	"WaitingForDeletion":      "the hub goes on by itself as soon as the Cluster of this name that is being deleted is gone",
	"WaitingForNamespace":     "the hub goes on by itself as soon as the Cluster has its namespace; its condition Processed says what that waits for",
	"WaitingForProvenance":    "the hub goes on by itself as soon as it knows whether the origin of requests is checked, moments after its start",
	"TooManyRequests":         "too many requests of its token lead to nothing: delete or answer those; the agent asks again by itself",
	"IdentityRequired":        "the agent has to bring a key: take an agent of the hub's version",
	ReasonIdentityConflict:    "a person decides whether it is the same cluster with a new agent",
	ReasonIdentityDenied:      "a person decides whether to let it in though another request with this key was denied",
	ReasonWaitingForApproval:  "a person decides whether to let it in",
	"CredentialConflict":      "the agent asks again by itself under another name",
	ReasonDenied:              "nothing by itself; to approve it overrules the denial",
	ReasonRevoked:             "spec.revoked of the Cluster has to be taken off; the agent then has to register anew",
	"ClusterGone":             "the agent asks again by itself while its token lives",
	"":                        "the hub answers as soon as its controller runs",
}

func endedBy(reason string) string {
	if text, ok := grantRemedies[reason]; ok {
		return text
	}
	return "see the message"
}

// importRemedies say, for each reason of condition Imported, what happens next. %s is the kubeconfig Secret.
var importRemedies = map[string]string{
	"KubeconfigMissing":         "The hub imports the cluster as soon as Secret %s exists.",
	"KubeconfigIncomplete":      "The hub imports the cluster as soon as Secret %s has a kubeconfig under key value.",
	"SecretNamespaceNotAllowed": "Put the kubeconfig Secret into the Cluster's own workspace and empty spec.kubeConfigSecretNamespace; the hub then imports the cluster.",
	"InvalidKubeconfig":         "Put a kubeconfig into Secret %s that has all that it needs inline, as the detail says; the hub then imports the cluster.",
	"KubeconfigRefused":         "Put a kubeconfig with a credential that the cluster accepts into Secret %s; the hub then imports the cluster.",
	"Forbidden":                 "Give the account of the kubeconfig in Secret %s all rights on the cluster; the hub tries again by itself, at last every 10 minutes.",
	"UntrustedCertificate":      "Put the CA that the cluster's server uses into the kubeconfig of Secret %s; the hub then imports the cluster.",
	"CertificateMismatch":       "Put an address that the server's certificate names into the kubeconfig of Secret %s, or set tls-server-name there; the hub then imports the cluster.",
	"Unreachable":               "The hub tries again by itself, at last every 10 minutes; the server in the kubeconfig of Secret %s has to be reachable from the hub.",
	"NoServerURL":               "Set apiServerURL in the values of the hub's chart, or key apiServerURL of Secret %s; the hub then imports the cluster.",
	"InvalidServerURL":          "Correct apiServerURL in the values of the hub's chart, or key apiServerURL of Secret %s; the hub then imports the cluster.",
	"NoServerCA":                "Set apiServerCA in the values of the hub's chart, or key apiServerCA of Secret %s; the hub then imports the cluster.",
	"InvalidServerCA":           "Put the hub's CA as PEM into apiServerCA in the values of the hub's chart, or into key apiServerCA of Secret %s; the hub then imports the cluster.",
	"InvalidTLSMode":            "Set agentTLSMode in the values of the hub's chart to strict or system-store; the hub then imports the cluster.",
	"InvalidAgentOptions":       "Correct the field that the detail names; the hub then imports the cluster.",
	"AgentNamespaceTaken":       "Of two Clusters of this hub, delete one or give it another spec.agentNamespace; from another hub, `fleet cluster redeploy` takes the cluster back.",
	"ImportTokenTaken":          "Delete or rename the registration token that the detail names; the hub then makes its own and imports the cluster.",
	"WaitingForToken":           "The hub imports the cluster as soon as its registration token is Ready.",
	"ImportFailed":              "The hub tries again by itself, at last every 10 minutes.",
	"LocalAgentDisabled":        "Nothing: bootstrap.localAgentDisabled of the hub's configuration keeps this cluster without an agent.",
	ReasonRevoked:               "Nothing, until spec.revoked of the Cluster is taken off.",
}
