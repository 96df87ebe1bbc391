package clusterimport

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/agentmanifest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// action is what is to be done about a cluster.
type action int

const (
	// nothing: the agent is as it should be, or is none of ours.
	nothing action = iota
	// await says what is missing; only a change of it brings the cluster back.
	await
	// install puts the agent there.
	install
	// inspect looks whether a changed kubeconfig leads to the same cluster and agent.
	inspect
	// prune removes the agent from the namespaces that it has left.
	prune
	// teardown removes the agent of the local cluster.
	teardown
	// confirm takes back what was said of a trouble that is over.
	confirm
)

// Reasons of condition Imported.
const (
	reasonSecretNamespace = "SecretNamespaceNotAllowed"
	reasonNoSecret        = "KubeconfigMissing"
	reasonBadSecret       = "KubeconfigIncomplete"
	reasonNoServerURL     = "NoServerURL"
	reasonBadServerURL    = "InvalidServerURL"
	reasonNoServerCA      = "NoServerCA"
	reasonBadServerCA     = "InvalidServerCA"
	reasonTLSMode         = "InvalidTLSMode"
	reasonBadOptions      = "InvalidAgentOptions"
	reasonRevoked         = "Revoked"
	reasonImported        = "Imported"
	reasonTornDown        = "LocalAgentDisabled"
	reasonUnreachable     = "Unreachable"
	reasonWaitToken       = "WaitingForToken"
	reasonTaken           = "AgentNamespaceTaken"
	reasonUntrusted       = "UntrustedCertificate"
)

// facts is what a decision rests on.
type facts struct {
	cluster *fleet.Cluster
	config  config.Config
	// secret is the kubeconfig secret, nil where it is missing, from secretNamespace.
	secret          *corev1.Secret
	secretNamespace string
	record          registration.Import
	// imported says that the last import went through to its end.
	imported bool
	// options are the agent's; optionsError says what is wrong with them.
	options      agentmanifest.Options
	optionsError error
	// accountLives says that the import account of the last import still lives.
	accountLives bool
	namespaces   names.Namespaces
	now          time.Time
	// touch is the hub's own: what an agent tried while it was lost, the hub could not answer.
	touch kube.Touch
	// lives is what ends some day, nil where that cannot be told.
	lives *registration.Lives
}

// plan is the outcome.
type plan struct {
	action          action
	reason, message string
	// again is when to look again although nothing changed, zero for never.
	again time.Duration
	// fresh asks for an import account of this import's own.
	fresh    bool
	attempts int
	target   target
}

func decide(f facts) plan {
	c := f.cluster
	switch {
	case registration.IsSkipped(c):
		return plan{}
	case registration.IsLocalDisabled(c, f.config):
		return decideTeardown(f)
	case c.Spec.KubeConfigSecret == "" || c.Spec.ClientID == "" || c.Status.Namespace == "":
		return plan{}
	case c.Spec.Revoked:
		return plan{action: await, reason: reasonRevoked, message: "the cluster is revoked"}
	}
	t, problem := effectiveTarget(f)
	if problem != nil {
		// A secret that is made anew at this moment, or a configuration without an address or a CA for a moment, is no reason
		// to call a good import bad.
		passing := problem.reason == reasonNoSecret || problem.reason == reasonBadSecret ||
			problem.reason == reasonNoServerURL || problem.reason == reasonNoServerCA ||
			problem.reason == reasonTLSMode && f.config.AgentTLSMode == ""
		if f.imported && !f.record.Superseded && !unhealthy(c) && passing {
			return plan{}
		}
		return *problem
	}
	p := decideImport(f, t)
	p.target = t
	if p.action == install || p.action == inspect {
		if _, err := agentObjects(f); err != nil {
			return plan{action: await, reason: reasonBadOptions, message: plain(err)}
		}
	}
	if p.action == nothing && p.again == 0 && isFalse(c.Status.Conditions, fleet.ClusterConditionImported) {
		p.action = confirm
	}
	return p
}

// decideTeardown removes an agent that was put there, once. Without a kubeconfig that cannot be done, and is not called done.
func decideTeardown(f facts) plan {
	if begun := f.imported || !f.record.Time.IsZero(); !begun || tornDown(f.cluster) {
		return plan{}
	}
	if problem := withoutSecret(f); problem != nil {
		problem.message = "bootstrap.localAgentDisabled is set, and the agent still has to be removed: " + problem.message
		return *problem
	}
	return plan{action: teardown}
}

func tornDown(c *fleet.Cluster) bool {
	imported := conditions.GetCondition(c.Status.Conditions, fleet.ClusterConditionImported)
	return imported != nil && imported.Reason == reasonTornDown
}

func decideImport(f facts, t target) plan {
	c, status := f.cluster, f.cluster.Status
	due := func(reason string, fresh bool) plan { return plan{action: install, reason: reason, fresh: fresh} }
	switch {
	case !f.imported && f.record.Time.IsZero():
		return due("first import", false)
	case f.record.Superseded:
		return plan{action: install, reason: "what the last import gave the agent was taken away", fresh: true, attempts: f.record.Attempts}
	case !f.imported && tornDown(c):
		return due("the agent of the local cluster is wanted again", true)
	case !f.imported:
		return plan{action: install, reason: "the last import did not come to its end", attempts: f.record.Attempts}
	case f.record.Time.IsZero():
		return due("it was imported by an earlier version", true)
	case status.AgentConfigChanged:
		return due("status.agentConfigChanged is set", true)
	case *status.AgentDeployedGeneration != c.Spec.RedeployAgentGeneration:
		return due("spec.redeployAgentGeneration changed", true)
	case f.record.Namespace != f.options.Namespace:
		return due("spec.agentNamespace changed", true)
	case status.APIServerURL != t.serverURL:
		return due("the hub's address changed", true)
	case status.APIServerCAHash != caHash(t.serverCA):
		return due("the hub's CA changed", true)
	case status.AgentTLSMode != f.config.AgentTLSMode:
		return due("agentTLSMode changed", true)
	case !sameInterval(status.GarbageCollectionInterval, f.config.GarbageCollectionInterval):
		return due("garbageCollectionInterval changed", true)
	}
	changed := f.record.Kubeconfig != digest(f.secret.Data[keyKubeconfig])
	if p := decideHealing(f); p != nil && (p.action != nothing || !changed) {
		return *p
	}
	switch {
	case changed:
		return plan{action: inspect, reason: "the kubeconfig changed"}
	case len(f.record.Previous) > 0 && conditions.IsTrue(status.Conditions, fleet.ClusterConditionAgentConnected) && status.Agent.Namespace == f.record.Namespace:
		return plan{action: prune}
	}
	return plan{}
}

func sameInterval(have *metav1.Duration, want metav1.Duration) bool {
	if have == nil {
		return want.Duration == 0
	}
	return have.Duration == want.Duration
}
