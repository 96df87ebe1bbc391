package kube

import (
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// CallTimeout ends a call to the hub that gets no answer. Watches are not calls: they last until the server ends them.
const CallTimeout = 30 * time.Second

// RESTConfig is how this process talks to the cluster that it serves. A kubeconfig file, where one is named, is the only
// source; without one the process must run in a cluster. Neither KUBECONFIG nor a file in the home directory is looked at.
// context picks one of the file's contexts, empty means the current one. There is no client-side rate limit, and a call
// without an answer ends after CallTimeout.
func RESTConfig(kubeconfig, context, userAgent string) (*rest.Config, error) {
	cfg, err := load(kubeconfig, context)
	if err != nil {
		return nil, err
	}
	cfg.UserAgent = userAgent
	unlimited(cfg)
	WithCallTimeout(cfg, CallTimeout)
	return cfg, nil
}

func load(kubeconfig, context string) (*rest.Config, error) {
	if kubeconfig == "" {
		cfg, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("no kubeconfig was given and this is not a pod with a service account (use --kubeconfig): %w", err)
		}
		return cfg, nil
	}
	raw, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	if err := clientcmd.ResolveLocalPaths(raw); err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	cfg, err := clientcmd.NewNonInteractiveClientConfig(*raw, context, &clientcmd.ConfigOverrides{}, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s, context %q: %w", kubeconfig, context, err)
	}
	return cfg, nil
}

// unlimited switches the client-side rate limit off: the server's priority and fairness decides, and what we ask is
// bounded by the workers.
func unlimited(cfg *rest.Config) {
	cfg.QPS = -1
	cfg.RateLimiter = nil
}
