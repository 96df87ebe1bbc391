package telemetry

import (
	"slices"
	"time"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/registration"
)

// pair is a figure's labels, the second empty where there is one.
type pair [2]string

// census is how many there are of what. Every value that a label can have is in it.
type census struct {
	clusters, credentials, ungranted, tokens map[pair]int
	bundles, deployments                     map[pair]int
}

// unanswered is the reason of a request that the hub has not said anything of yet.
const unanswered = "Unanswered"

// States of a token.
const (
	tokenReady   = "Ready"
	tokenWaiting = "Waiting"
	tokenFailing = "Failing"
	tokenLeaving = "Leaving"
	tokenCrowded = "Crowded"
)

var (
	clusterStates = []string{
		registration.StateRegistering, registration.StateConnected, registration.StateSilent, registration.StateRefused,
		registration.StateClone, registration.StateBlocked, registration.StateRevoked, registration.StateLeaving, other,
	}
	joinMethods     = []string{registration.JoinedByManager, registration.JoinedByAgent, registration.JoinedLocally}
	tokenStates     = []string{tokenReady, tokenWaiting, tokenFailing, tokenLeaving, tokenCrowded}
	ungrantedLabels = append(append([]string{unanswered, reasonDenied}, requestWaits...), withOther(requestRefusals)...)
	credentialKinds = []string{agentCredential, hubCA, kubeconfig, kubeconfigCA}
)

// newCensus has all figures at 0.
func newCensus() census {
	c := census{
		clusters: map[pair]int{}, credentials: map[pair]int{}, ungranted: map[pair]int{}, tokens: map[pair]int{},
		bundles: map[pair]int{}, deployments: map[pair]int{},
	}
	fill(c.clusters, clusterStates, joinMethods)
	fill(c.credentials, credentialKinds, terms)
	fill(c.ungranted, ungrantedLabels, []string{""})
	fill(c.tokens, tokenStates, []string{""})
	fill(c.bundles, bundleStates, owners)
	fill(c.deployments, deploymentStates, owners)
	return c
}

func fill(figures map[pair]int, first, second []string) {
	for _, a := range first {
		for _, b := range second {
			figures[pair{a, b}] = 0
		}
	}
}

func (c census) addCluster(cluster *fleet.Cluster, now time.Time) {
	if registration.IsManagedElsewhere(cluster) {
		return
	}
	state, _ := registration.StateOf(cluster)
	c.clusters[pair{known(clusterStates, state), registration.JoinMethod(cluster)}]++
	for kind, term := range credentialTerms(cluster, now) {
		c.credentials[pair{kind, term}]++
	}
}

func (c census) addRequest(r *fleet.ClusterRegistration) {
	if !r.Status.Granted {
		c.ungranted[pair{reasonLabel(grantOf(r))}]++
	}
}

func reasonLabel(granted *genericcondition.GenericCondition) string {
	if granted == nil {
		return unanswered
	}
	return known(ungrantedLabels, granted.Reason)
}

func (c census) addToken(t *fleet.ClusterRegistrationToken) {
	c.tokens[pair{tokenState(t)}]++
}

func tokenState(t *fleet.ClusterRegistrationToken) string {
	ready := conditions.GetCondition(t.Status.Conditions, fleet.TokenConditionReady)
	switch {
	case t.DeletionTimestamp != nil:
		return tokenLeaving
	case ready == nil:
		return tokenWaiting
	case ready.Status == "True" && registration.IsCrowded(t):
		return tokenCrowded
	case ready.Status == "True":
		return tokenReady
	case slices.Contains(tokenWaits, ready.Reason):
		return tokenWaiting
	}
	return tokenFailing
}

// What ends some day between a hub and a cluster.
const (
	agentCredential = "agent"
	hubCA           = "hub_ca"
	kubeconfig      = "kubeconfig"
	kubeconfigCA    = "kubeconfig_ca"
)

const day = 24 * time.Hour

// Terms in which something ends.
const (
	termExpired = "expired"
	termMore    = "more"
	termUnknown = "unknown"
)

// bounds are the terms between expired and more.
var bounds = []struct {
	term string
	less time.Duration
}{{"<1d", day}, {"<7d", 7 * day}, {"<30d", 30 * day}, {"<90d", 90 * day}}

var terms = []string{termExpired, "<1d", "<7d", "<30d", "<90d", termMore, termUnknown}

// credentialTerms are the terms of what a cluster has: a registered one an agent's credential and the hub's CA, an
// imported one a kubeconfig.
func credentialTerms(c *fleet.Cluster, now time.Time) map[string]string {
	if c.DeletionTimestamp != nil || c.Spec.Revoked {
		return nil
	}
	have := fleet.CredentialStatus{}
	if c.Status.Credential != nil {
		have = *c.Status.Credential
	}
	out := map[string]string{}
	if conditions.IsTrue(c.Status.Conditions, fleet.ClusterConditionRegistered) {
		out[agentCredential] = term(have.Expires, now)
		if have.Type != "" && have.Expires == nil {
			out[agentCredential] = termMore // it has no end
		}
		out[hubCA] = term(have.HubCAExpires, now)
	}
	if c.Spec.KubeConfigSecret != "" {
		out[kubeconfig], out[kubeconfigCA] = term(have.KubeconfigExpires, now), term(have.KubeconfigCAExpires, now)
	}
	return out
}

func term(end *metav1.Time, now time.Time) string {
	if end == nil {
		return termUnknown
	}
	left := end.Sub(now)
	if left <= 0 {
		return termExpired
	}
	for _, b := range bounds {
		if left < b.less {
			return b.term
		}
	}
	return termMore
}
