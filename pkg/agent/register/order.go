package register

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/rancher/fleet/pkg/agent/hub"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/registration"
)

// order is what a bootstrap secret, together with the agent's settings, tells the agent to do.
type order struct {
	registration.Bootstrap
	settings settings
	clientID string
	// clusterUID is the UID of this cluster's kube-system namespace.
	clusterUID string
	// claims are those of the bootstrap token, zero where it is no JWT.
	claims registration.Claims
	// digest names the order: the same digest resumes the same request.
	digest string
	// key names the order together with the settings that a handshake uses; another key restarts it.
	key string
	// kubeconfig is how the hub is asked.
	kubeconfig []byte
}

// newOrder reads a bootstrap secret. An error names the key that is wrong.
func newOrder(secret *corev1.Secret, s settings, clusterUID string) (order, error) {
	bootstrap, err := registration.ParseBootstrap(secret.Data)
	if err != nil {
		return order{}, fmt.Errorf("Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	o := order{Bootstrap: bootstrap, settings: s, clusterUID: clusterUID, clientID: s.ClientID}
	if o.clientID == "" {
		o.clientID = clusterUID
	}
	// A token that is no JWT is no reason not to ask: the hub's API server takes what it takes, such as a proxy's token.
	// The request then names no requester, and whether that will do is the hub's decision, which it says in a condition.
	if claims, err := registration.ParseClaims(bootstrap.Token); err == nil {
		o.claims = claims
	}
	o.kubeconfig, err = kube.BuildKubeconfig(bootstrap.APIServerURL, bootstrap.APIServerCA, bootstrap.Token, bootstrap.ClusterNamespace)
	if err == nil {
		err = hub.Check(o.kubeconfig, s.TLSMode)
	}
	if err != nil {
		return order{}, fmt.Errorf("Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	o.digest = digest(
		bootstrap.APIServerURL, string(bootstrap.APIServerCA), bootstrap.ClusterNamespace, bootstrap.Token,
		bootstrap.TokenName, bootstrap.SystemRegistrationNamespace, o.clientID,
	)
	o.key = digest(append([]string{o.digest, s.TLSMode}, flatten(s.Labels)...)...)
	return o, nil
}

// digest is a hash of the parts, each with its length before it.
func digest(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		sum.Write(length[:])
		sum.Write([]byte(part))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// flatten is a map as a list in the order of its keys.
func flatten(m map[string]string) []string {
	out := make([]string, 0, 2*len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, key, m[key])
	}
	return out
}
