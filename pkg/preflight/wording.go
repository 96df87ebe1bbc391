package preflight

// wording says where a reader mends what a check found.
type wording struct {
	address, ca, proxy, proxyUser, credential string
	// renew is what to do about a credential that is of no use.
	renew string
}

var kubeconfigWords = wording{
	address:    "cluster.server of the kubeconfig",
	ca:         "certificate-authority-data of the kubeconfig",
	proxy:      "proxy-url of the kubeconfig (or HTTPS_PROXY and NO_PROXY where the hub runs)",
	proxyUser:  "the hub",
	credential: "the kubeconfig",
	renew:      "Put a credential that this API server knows into the kubeconfig.",
}

var valuesWords = wording{
	address:    "apiServerURL (which comes from the hub's chart fleet)",
	ca:         "apiServerCA (which comes from the hub's chart fleet)",
	proxy:      "the values proxy and noProxy of the chart fleet-agent",
	proxyUser:  "the agent (value extraEnv)",
	credential: "the values",
	renew:      "On the hub make a token (fleet token create NAME --wait) and take its values (fleet token values NAME > values.yaml).",
}
