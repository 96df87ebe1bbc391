package registration

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// Lives is what ends some day between a hub and a cluster, beside the agent's own credential.
type Lives struct {
	// HubCA is the CA that agents are given, Kubeconfig the credential in the kubeconfig secret, KubeconfigCA the
	// cluster's CA there.
	HubCA, Kubeconfig, KubeconfigCA Life
	// CAFrom is the Secret that the hub's CA is from, where it is not from the configuration.
	CAFrom string
	// Secret is the kubeconfig secret.
	Secret string
}

// Show writes the ends of an imported cluster's lives into its status, and nothing else.
func (l Lives) Show(status *fleet.ClusterStatus) {
	hubCA, kubeconfig, ca := end(l.HubCA), end(l.Kubeconfig), end(l.KubeconfigCA)
	if status.Credential == nil {
		if hubCA == nil && kubeconfig == nil && ca == nil {
			return
		}
		status.Credential = &fleet.CredentialStatus{}
	}
	status.Credential.HubCAExpires, status.Credential.KubeconfigExpires, status.Credential.KubeconfigCAExpires = hubCA, kubeconfig, ca
}

// ShowHubCA is Show for a cluster without a kubeconfig secret.
func (l Lives) ShowHubCA(status *fleet.CredentialStatus) { status.HubCAExpires = end(l.HubCA) }

// end is an end as the API keeps it, nil where there is none.
func end(l Life) *metav1.Time {
	if !l.Known() {
		return nil
	}
	return stamp(l.Until)
}

// Ended says what of the kubeconfig secret has ended, and what to do; empty where nothing has.
func (l Lives) Ended(now time.Time) string {
	var said []string
	for _, d := range l.ofKubeconfig() {
		if d.Life.Ended(now) {
			said = append(said, d.say(now))
		}
	}
	return strings.Join(said, "; ")
}

// dated is something that ends, what it is and what to do.
type dated struct {
	Life
	what, remedy string
}

// Warnings say what ends soon or has ended, and what to do; empty while nothing does. agent is the life of the agent's own
// credential: it is renewed before its end is near, so that one which is near was not taken. next is when the answer
// changes, zero for never.
func (l Lives) Warnings(c *fleet.Cluster, agent Life, now time.Time) (text string, next time.Time) {
	var said []string
	for _, d := range l.dated(c, agent) {
		if d.Life.EndsSoon(now) {
			said = append(said, d.say(now))
		}
		if at := d.Next(now); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return strings.Join(said, "; "), next
}

func (l Lives) dated(c *fleet.Cluster, agent Life) []dated {
	again := "raise spec.redeployAgentGeneration"
	if c.Spec.KubeConfigSecret == "" {
		again = "upgrade the agent's chart with the values of a new token"
	}
	newCA := "put the CA that follows into apiServerCA of the hub's configuration"
	if l.CAFrom != "" {
		newCA = fmt.Sprintf("put the CA that follows into Secret %s, key %q", l.CAFrom, KeyAPIServerCA)
	}
	all := []dated{{agent, "the agent's credential", "the agent has not taken a new one: " + again}}
	return append(append(all, l.ofKubeconfig()...), dated{l.HubCA, "the hub's CA", newCA})
}

func (l Lives) ofKubeconfig() []dated {
	return []dated{
		{l.Kubeconfig, "the credential of the kubeconfig", fmt.Sprintf("put a new one into Secret %s, key %q", l.Secret, KeyKubeconfigValue)},
		{l.KubeconfigCA, "the cluster's CA in the kubeconfig", fmt.Sprintf("put the CA that follows into Secret %s, key %q", l.Secret, KeyKubeconfigValue)},
	}
}

func (d dated) say(now time.Time) string {
	verb := "ends"
	if d.Ended(now) {
		verb = "ended"
	}
	what := d.what
	if d.Others {
		what = "one of the certificates of " + what
	}
	if d.Fingerprint != "" {
		what += " (SHA-256 " + d.Fingerprint + ")"
	}
	return fmt.Sprintf("%s %s at %s: %s", what, verb, d.Until.UTC().Format(time.RFC3339), d.remedy)
}
