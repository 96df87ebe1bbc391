package kube

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// UserConfig finds a person's cluster as kubectl does: the given kubeconfig, else the files of KUBECONFIG, else the one
// in the home directory. Only commands that people type use it; a role in a cluster has one source, see RESTConfig.
func UserConfig(kubeconfig, context, userAgent string) (*rest.Config, error) {
	cfg, err := userConfig(kubeconfig, context).ClientConfig()
	if clientcmd.IsEmptyConfig(err) { // its own words name a variable that nobody reads
		return nil, errors.New("no hub to talk to: give --kubeconfig, or set KUBECONFIG; the kubeconfig that was found is empty, or there is none")
	}
	if err != nil {
		return nil, fmt.Errorf("no hub to talk to: give --kubeconfig, or set KUBECONFIG: %w", err)
	}
	cfg.UserAgent = userAgent
	unlimited(cfg)
	cfg.Timeout = CallTimeout
	return cfg, nil
}

// UserNamespace is the namespace that a person has chosen in the context which UserConfig uses, empty where none is set
// there. kubectl takes "default" then; that is no workspace of anybody's choice.
func UserNamespace(kubeconfig, context string) string {
	raw, err := userConfig(kubeconfig, context).RawConfig()
	if err != nil {
		return ""
	}
	if context == "" {
		context = raw.CurrentContext
	}
	if chosen := raw.Contexts[context]; chosen != nil {
		return chosen.Namespace
	}
	return ""
}

// UserContexts are the names of the contexts that UserConfig can be told to use, in order.
func UserContexts(kubeconfig string) []string {
	raw, err := userConfig(kubeconfig, "").RawConfig()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(raw.Contexts))
}

func userConfig(kubeconfig, context string) clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context})
}
