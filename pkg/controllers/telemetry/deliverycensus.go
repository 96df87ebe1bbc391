package telemetry

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

var (
	bundlesDesc = prometheus.NewDesc("fleet_bundles",
		"Bundles by state, and whether they are an agent's own. Waiting ones the hub has not looked at yet, or they wait for something that comes by itself; Refused ones need somebody; else it is the worst state of their clusters.",
		[]string{"state", "of"}, nil)
	deploymentsDesc = prometheus.NewDesc("fleet_bundledeployments",
		"BundleDeployments by state, as their agents report them, and whether they are an agent's own.", []string{"state", "of"}, nil)
)

// States that bundles have beside those of their clusters.
const (
	stateLeaving = "Leaving"
	stateWaiting = "Waiting"
	stateRefused = "Refused"
)

// Whose a bundle is.
const (
	ofAgent = "agent"
	ofUser  = "user"
)

var (
	deploymentStates = []string{
		string(fleet.Ready), string(fleet.NotReady), string(fleet.Pending), string(fleet.OutOfSync), string(fleet.Modified),
		string(fleet.WaitApplied), string(fleet.ErrApplied), stateLeaving, other,
	}
	bundleStates = append([]string{stateWaiting, stateRefused}, deploymentStates...)
	owners       = []string{ofAgent, ofUser}
)

func ownerOf(isAgents bool) string {
	if isAgents {
		return ofAgent
	}
	return ofUser
}

func (c census) addBundle(b *fleet.Bundle) {
	c.bundles[pair{bundleState(b), ownerOf(isAgentBundle(b))}]++
}

// isAgentBundle takes a Bundle's owner for one that exists.
func isAgentBundle(b *fleet.Bundle) bool {
	return slices.ContainsFunc(b.OwnerReferences, func(ref metav1.OwnerReference) bool {
		return names.IsAgentBundle(b, &metav1.ObjectMeta{Namespace: b.Namespace, Name: ref.Name, UID: ref.UID})
	})
}

func (c census) addDeployment(bd *fleet.BundleDeployment) {
	c.deployments[pair{deploymentState(bd), ownerOf(bd.Labels[names.AgentBundleLabel] == "true")}]++
}
