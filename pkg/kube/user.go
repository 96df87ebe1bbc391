package kube

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// UserConfig finds a person's cluster as kubectl does: the given kubeconfig, else the files of KUBECONFIG, else the one
// in the home directory. Only commands that people type use it; a role in a cluster has one source, see RESTConfig.
func UserConfig(kubeconfig, context, userAgent string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no hub to talk to: give --kubeconfig, or set KUBECONFIG: %w", err)
	}
	cfg.UserAgent = userAgent
	unlimited(cfg)
	cfg.Timeout = CallTimeout
	return cfg, nil
}
