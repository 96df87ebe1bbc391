package delivery

import (
	"slices"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/target"
)

// Choice is why a cluster gets the bundle, or why not.
type Choice struct {
	Workspace string `json:"workspace"`
	Cluster   string `json:"cluster"`
	target.Explanation
	// DeploymentID is the version that it gets.
	DeploymentID string `json:"deploymentID,omitempty"`
	// Blocked says why nothing can be written for the cluster now.
	Blocked string `json:"blocked,omitempty"`
}

// Choices tell of every cluster that the bundle may choose, sorted.
func (l Look) Choices() []Choice {
	versions := map[string]string{}
	for _, t := range l.Targets {
		versions[t.Key().String()] = t.DeploymentID
	}
	clusters := slices.SortedFunc(slices.Values(l.facts.Clusters), func(a, b *fleet.Cluster) int { return compareKeys(keyOf(a), keyOf(b)) })
	list := make([]Choice, 0, len(clusters))
	for _, cluster := range clusters {
		c := Choice{
			Workspace: cluster.Namespace, Cluster: cluster.Name, Explanation: target.Explain(l.facts.Facts, cluster),
			DeploymentID: versions[keyOf(cluster).String()],
		}
		if c.Targeted {
			c.Blocked = l.places[keyOf(cluster)].blocked
		}
		list = append(list, c)
	}
	return list
}
