package clusterimport

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"

	"github.com/rancher/fleet/pkg/agentmanifest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// Keys of a kubeconfig secret.
const (
	keyKubeconfig = "value"
	keyServerURL  = "apiServerURL"
	keyServerCA   = "apiServerCA"
)

// Pace of healing: an agent that does not come back is put there again after a minute, then two, four, …, 30 minutes.
const (
	healFirst = time.Minute
	healLast  = 30 * time.Minute
	// joinPatience is how long an imported agent may take to register before it is put there once more.
	joinPatience = 10 * time.Minute
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
)

// Reasons of condition Imported.
const (
	reasonSecretNamespace = "SecretNamespaceNotAllowed"
	reasonNoSecret        = "KubeconfigMissing"
	reasonBadSecret       = "KubeconfigIncomplete"
	reasonNoServerURL     = "NoServerURL"
	reasonBadServerURL    = "InvalidServerURL"
	reasonTLSMode         = "InvalidTLSMode"
	reasonBadOptions      = "InvalidAgentOptions"
	reasonRevoked         = "Revoked"
	reasonImported        = "Imported"
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

// target is where the agent shall report to.
type target struct {
	serverURL string
	serverCA  []byte
}

func decide(f facts) plan {
	c := f.cluster
	switch {
	case registration.IsSkipped(c):
		return plan{}
	case registration.IsLocalDisabled(c, f.config):
		if f.imported {
			return plan{action: teardown}
		}
		return plan{}
	case c.Spec.KubeConfigSecret == "" || c.Spec.ClientID == "" || c.Status.Namespace == "":
		return plan{}
	case c.Spec.Revoked:
		return plan{action: await, reason: reasonRevoked, message: "the cluster is revoked"}
	}
	t, problem := effectiveTarget(f)
	if problem != nil {
		// A secret that is made anew at this moment is no reason to call a good import bad.
		if f.imported && !unhealthy(c) && (problem.reason == reasonNoSecret || problem.reason == reasonBadSecret) {
			return plan{}
		}
		return *problem
	}
	p := decideImport(f, t)
	p.target = t
	return p
}

// effectiveTarget is where the agent shall report to, or what keeps it from being known. URL and CA of the secret come
// before those of the configuration, each on its own.
func effectiveTarget(f facts) (target, *plan) {
	wait := func(reason, format string, args ...any) (target, *plan) {
		return target{}, &plan{action: await, reason: reason, message: fmt.Sprintf(format, args...)}
	}
	name := f.secretNamespace + "/" + f.cluster.Spec.KubeConfigSecret
	switch {
	case !AllowedSecretNamespace(f.cluster.Namespace, f.secretNamespace):
		return wait(reasonSecretNamespace, "kubeConfigSecretNamespace %q is not an allowed Fleet namespace; put the secret into %s", f.secretNamespace, f.cluster.Namespace)
	case f.secret == nil:
		return wait(reasonNoSecret, "secret %s (spec.kubeConfigSecret) does not exist; the import starts as soon as it does", name)
	case len(f.secret.Data[keyKubeconfig]) == 0:
		return wait(reasonBadSecret, "secret %s has no kubeconfig under key %q", name, keyKubeconfig)
	case f.config.AgentTLSMode != config.TLSStrict && f.config.AgentTLSMode != config.TLSSystemStore:
		return wait(reasonTLSMode, "agentTLSMode %q of the hub's configuration is none of %q and %q", f.config.AgentTLSMode, config.TLSStrict, config.TLSSystemStore)
	case f.optionsError != nil:
		return wait(reasonBadOptions, "%s", f.optionsError)
	}
	t := target{serverURL: string(f.secret.Data[keyServerURL]), serverCA: f.secret.Data[keyServerCA]}
	if t.serverURL == "" {
		t.serverURL = f.config.APIServerURL
	}
	if len(t.serverCA) == 0 {
		t.serverCA = f.config.APIServerCA
	}
	if t.serverURL == "" {
		return wait(reasonNoServerURL, "no address of this hub is known for agents: set apiServerURL in the hub's configuration, or key %q in secret %s", keyServerURL, name)
	}
	if err := registration.ValidateServerURL(t.serverURL); err != nil {
		return wait(reasonBadServerURL, "address of this hub for agents: %s", err)
	}
	return t, nil
}

// allowedSecretNamespaces may hold kubeconfig secrets of clusters of other workspaces.
var allowedSecretNamespaces = []string{
	names.DefaultLocalWorkspace, names.DefaultWorkspace,
	names.DefaultSystemNamespace, names.LegacySystemNamespace,
	"cattle-fleet-clusters-system", "fleet-clusters-system",
}

// AllowedSecretNamespace says whether a Cluster may name a secret of that namespace: its own, or one of the hub's. Else
// whoever may write a Cluster could have the hub use any secret of it.
func AllowedSecretNamespace(workspace, namespace string) bool {
	return namespace == "" || namespace == workspace || slices.Contains(allowedSecretNamespaces, namespace) || strings.HasPrefix(namespace, "cluster-")
}

func decideImport(f facts, t target) plan {
	c, status := f.cluster, f.cluster.Status
	install := func(reason string, fresh bool) plan { return plan{action: install, reason: reason, fresh: fresh} }
	switch {
	case !f.imported:
		return install("first import", false)
	case *status.AgentDeployedGeneration != c.Spec.RedeployAgentGeneration:
		return install("spec.redeployAgentGeneration changed", true)
	case f.record.Namespace != f.options.Namespace:
		return install("spec.agentNamespace changed", true)
	case status.APIServerURL != t.serverURL:
		return install("the hub's address changed", true)
	case status.APIServerCAHash != caHash(t.serverCA):
		return install("the hub's CA changed", true)
	case status.AgentTLSMode != f.config.AgentTLSMode:
		return install("agentTLSMode changed", true)
	case !sameInterval(status.GarbageCollectionInterval, f.config.GarbageCollectionInterval):
		return install("garbageCollectionInterval changed", true)
	}
	if p := decideHealing(f); p != nil {
		return *p
	}
	switch {
	case f.record.Kubeconfig != digest(f.secret.Data[keyKubeconfig]):
		return plan{action: inspect, reason: "the kubeconfig changed"}
	case len(f.record.Previous) > 0 && conditions.IsTrue(status.Conditions, fleet.ClusterConditionAgentConnected) && status.Agent.Namespace == f.record.Namespace:
		return plan{action: prune}
	}
	return plan{}
}

// decideHealing puts an agent there again that does not report, ever more slowly the longer that does not help.
func decideHealing(f facts) *plan {
	status := f.cluster.Status
	registered := conditions.IsTrue(status.Conditions, fleet.ClusterConditionRegistered)
	connected := conditions.IsTrue(status.Conditions, fleet.ClusterConditionAgentConnected)
	age := f.now.Sub(f.record.Time)
	var reason string
	wait := healDelay(f.record.Attempts)
	switch {
	case isFalse(status.Conditions, fleet.ClusterConditionCredentialValid):
		reason = "the agent's credential is no longer valid"
	case registered && !connected:
		reason = "the agent is silent"
	case !registered && !f.accountLives:
		reason = "the agent has not registered and its import account ended"
	case !registered:
		reason, wait = "the agent has not registered", joinPatience
	default:
		return nil
	}
	attempts := f.record.Attempts
	if connectedSince(status.Conditions, f.record.Time) {
		attempts, wait = 0, 0 // the last import did help; this is a new trouble
	}
	if f.record.Generation != agentmanifest.Generation(f.options) {
		wait = 0 // what was put there is not what is wanted now; nobody but the hub can correct that
	}
	if age < wait {
		return &plan{again: wait - age}
	}
	return &plan{action: install, reason: reason, fresh: true, attempts: attempts + 1}
}

func healDelay(attempts int) time.Duration {
	if attempts > 5 {
		return healLast
	}
	return min(healFirst<<attempts, healLast)
}

// unhealthy says that the agent is known not to report, or with a credential that is dead.
func unhealthy(c *fleet.Cluster) bool {
	return isFalse(c.Status.Conditions, fleet.ClusterConditionCredentialValid) ||
		isFalse(c.Status.Conditions, fleet.ClusterConditionAgentConnected)
}

func isFalse(list []genericcondition.GenericCondition, kind string) bool {
	c := conditions.GetCondition(list, kind)
	return c != nil && c.Status == corev1.ConditionFalse
}

// connectedSince says that the agent was connected at some time after t, and has been lost since.
func connectedSince(list []genericcondition.GenericCondition, t time.Time) bool {
	c := conditions.GetCondition(list, fleet.ClusterConditionAgentConnected)
	if c == nil {
		return false
	}
	changed, err := time.Parse(time.RFC3339, c.LastTransitionTime)
	return err == nil && changed.After(t)
}

func sameInterval(have *metav1.Duration, want metav1.Duration) bool {
	if have == nil {
		return want.Duration == 0
	}
	return have.Duration == want.Duration
}
