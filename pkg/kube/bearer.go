package kube

import (
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// ClientsNamed are clients of the same server and with the same rights as cfg, under another name: what they ask can be told
// apart from the rest of a process.
func ClientsNamed(cfg *rest.Config, userAgent string) (kubernetes.Interface, error) {
	clients, err := kubernetes.NewForConfig(hubConfig(cfg, userAgent))
	if err != nil {
		return nil, fmt.Errorf("clients of %s: %w", userAgent, err)
	}
	return clients, nil
}

// AsBearer is a client of the same server as cfg that has the token's rights, and none of cfg's.
func AsBearer(cfg *rest.Config, token, userAgent string) (dynamic.Interface, error) {
	bearer := rest.AnonymousClientConfig(cfg)
	bearer.BearerToken = token
	client, err := dynamic.NewForConfig(hubConfig(bearer, userAgent))
	if err != nil {
		return nil, fmt.Errorf("client of %s: %w", userAgent, err)
	}
	return client, nil
}
