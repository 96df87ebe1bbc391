package cluster

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
)

// Reasons of condition Revoked, and of those that follow from it.
const (
	reasonRevoking   = "Revoking"
	reasonRevoked    = "Revoked"
	reasonReadmitted = "Readmitted"
	reasonWaiting    = "WaitingForAgent"
)

// left is what is still there of what a revoked cluster was given. The controller of the requests takes it away: bindings
// first, then accounts.
type left struct{ grants, accounts int }

func (l left) any() bool { return l.grants+l.accounts > 0 }

// observeLeft counts what is left, as the caches know it; and before it is said that nothing is, as the API server does.
func (h *handler) observeLeft(cluster *fleet.Cluster) (left, error) {
	var l left
	if !cluster.Spec.Revoked {
		return l, nil
	}
	requests, err := h.requestsOf(cluster)
	if err != nil {
		return l, err
	}
	for _, r := range requests {
		if r.Status.Granted {
			l.grants++
		}
	}
	accounts, err := h.Accounts.Cache().GetByIndex(accountsByCluster, cluster.Namespace+"/"+cluster.Name)
	if err != nil {
		return l, fmt.Errorf("listing accounts: %w", err)
	}
	l.accounts = len(accounts)
	if l.any() || conditions.IsTrue(cluster.Status.Conditions, fleet.ClusterConditionRevoked) {
		return l, nil
	}
	for _, r := range requests {
		if len(r.Status.Credentials) == 0 {
			continue // it never had an account
		}
		name := names.Account(r.Name, string(r.UID))
		live, err := found(h.Accounts.Get(h.Names.Agents, name, metav1.GetOptions{}))
		if err != nil {
			return l, fmt.Errorf("reading account %s: %w", name, err)
		}
		if live != nil {
			l.accounts++
		}
	}
	return l, nil
}

// requestsOf are the requests of a Cluster.
func (h *handler) requestsOf(cluster *fleet.Cluster) ([]*fleet.ClusterRegistration, error) {
	var all []*fleet.ClusterRegistration
	for _, key := range clusterKeys(cluster) {
		requests, err := h.Registrations.Cache().GetByIndex(requestsByCluster, key)
		if err != nil {
			return nil, fmt.Errorf("listing registrations: %w", err)
		}
		all = append(all, requests...)
	}
	return all, nil
}

// reportRevoked says of a revoked cluster how far that is.
func reportRevoked(status *fleet.ClusterStatus, c *fleet.Cluster, l left, now time.Time) {
	switch {
	case !c.Spec.Revoked:
	case l.any():
		conditions.SetCondition(&status.Conditions, fleet.ClusterConditionRevoked, metav1.ConditionFalse, reasonRevoking,
			fmt.Sprintf("still to be taken away: grants of %d registration requests, %d accounts", l.grants, l.accounts), now)
	default:
		conditions.SetCondition(&status.Conditions, fleet.ClusterConditionRevoked, metav1.ConditionTrue, reasonRevoked,
			"nothing is left of what its agent was given; a watch on its BundleDeployments that was open goes on until it ends (fleet cluster revoke --cut-watches ends all)", now)
	}
}

// reportReadmitted says that a cluster begins anew in another namespace. What was said of the agent that it had in the
// one before is over: nobody beats there any more.
func reportReadmitted(status *fleet.ClusterStatus, c *fleet.Cluster, now time.Time) {
	have := conditions.GetCondition(status.Conditions, fleet.ClusterConditionRevoked)
	if c.Spec.Revoked || have == nil && roundOf(c) == 0 {
		return
	}
	changed := conditions.SetCondition(&status.Conditions, fleet.ClusterConditionRevoked, metav1.ConditionFalse, reasonReadmitted,
		fmt.Sprintf("its namespace is %s now; its agent has to register anew", status.Namespace), now)
	if !changed {
		return
	}
	conditions.SetCondition(&status.Conditions, fleet.ClusterConditionAgentConnected, metav1.ConditionFalse, reasonWaiting,
		"the cluster was readmitted: waiting for its agent to register anew", now)
	if conditions.GetCondition(status.Conditions, fleet.ClusterConditionCredentialValid) != nil {
		conditions.SetCondition(&status.Conditions, fleet.ClusterConditionCredentialValid, metav1.ConditionFalse, reasonRevoked,
			"the cluster was revoked, and what its agent was given with it; the cluster is readmitted, its agent has to register anew", now)
	}
}
