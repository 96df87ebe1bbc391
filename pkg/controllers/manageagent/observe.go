package manageagent

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rancher/fleet/pkg/agentmanifest"
	"github.com/rancher/fleet/pkg/agentupgrade"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// facts is what is known of one Cluster whose agent is managed.
type facts struct {
	cluster *fleet.Cluster
	// bundle is the one that there is, nil for none, and mark what it says of itself. other is another that has its name.
	bundle, other *fleet.Bundle
	mark          mark
	// options is the digest of the Cluster's own options.
	options string
	agent   agent
}

// observe puts together what the caches know.
func (h *handler) observe(c *fleet.Cluster, options agentmanifest.Options, canaries labels.Selector, now time.Time) (facts, error) {
	f := facts{cluster: c, options: optionsDigest(c.Spec)}
	found, err := h.Bundles.Cache().Get(c.Namespace, names.AgentBundle(c.Name))
	switch {
	case err == nil && !names.IsAgentBundle(found, c):
		f.other = found
	case err == nil:
		f.bundle, f.mark = found, h.recent.newest(c, markOf(found), now)
	case !apierrors.IsNotFound(err):
		return f, fmt.Errorf("agent bundle of cluster %s/%s: %w", c.Namespace, c.Name, err)
	}
	f.agent = agentOf(f, agentmanifest.Generation(options), canaries, now)
	return f, nil
}

func agentOf(f facts, desired string, canaries labels.Selector, now time.Time) agent {
	c := f.cluster
	a := agent{
		key: key{c.Namespace, c.Name}, canary: canaries.Matches(labels.Set(c.Labels)),
		reachable: standsBy(c) == "",
		desired:   desired, written: f.mark.Generation, running: c.Status.Agent.Generation,
		waved: f.mark.Waved, writtenAt: f.mark.Written,
	}
	if a.reachable && a.waved && a.running != a.written {
		a.writtenAt = reachedAt(c, f.mark.Written, now)
	}
	if u := c.Status.Agent.Upgrade; u != nil && a.running != a.written {
		a.takenBack = u.Reason == agentupgrade.TakenBack
	}
	if a.canary && a.waved && a.running == a.written {
		a.upgradedAt = upgradedAt(c, f.mark.Written, now)
	}
	return a
}

// upgradedAt is since when an agent runs what it was given. Condition AgentUpgraded says so once it was written.
func upgradedAt(c *fleet.Cluster, written, now time.Time) time.Time {
	have := conditions.GetCondition(c.Status.Conditions, fleet.ClusterConditionAgentUpgraded)
	if have == nil {
		return written
	}
	since, err := time.Parse(time.RFC3339, have.LastTransitionTime)
	if have.Status != corev1.ConditionTrue || err != nil {
		return now.UTC().Truncate(time.Second)
	}
	if since.Before(written) {
		return written
	}
	return since
}

// standsBy says why a Cluster takes no part in a wave: what is written for it does not reach its agent. It is empty where
// nothing keeps it.
func standsBy(c *fleet.Cluster) string {
	_, held := registration.CloneOf(c.Annotations)
	switch {
	case c.Spec.Paused:
		return "waits for the cluster, which is paused (spec.paused)"
	case held:
		return "waits for the cluster, which is held: condition AgentConnected says why, and what lets it go on"
	case !conditions.IsTrue(c.Status.Conditions, fleet.ClusterConditionAgentConnected):
		return "waits for the agent to connect"
	}
	return ""
}

// reachedAt is since when an agent could have been given what was written. While the Cluster stood by, condition
// AgentUpgraded said so: from its end on the agent has as much time as any other.
func reachedAt(c *fleet.Cluster, written, now time.Time) time.Time {
	have := conditions.GetCondition(c.Status.Conditions, fleet.ClusterConditionAgentUpgraded)
	switch {
	case have == nil:
		return written
	case have.Reason == reasonWaiting:
		return now.UTC().Truncate(time.Second)
	case have.Reason != reasonUpgrading:
		return written
	}
	since, err := time.Parse(time.RFC3339, have.LastUpdateTime)
	if err != nil || since.Before(written) {
		return written
	}
	return since
}

// atOnce says that a bundle is written without waiting for its turn: where that restarts no agent, where there is none to
// restart, and where a person wants something else of this very cluster.
func atOnce(f facts, imported string) bool {
	a := f.agent
	switch {
	case f.bundle == nil, !a.waits(), a.desired == a.running:
		return true
	case a.desired == imported && f.mark.Import != importDigest(f.cluster):
		return true // it was just put there; later, the same is a way back like any other
	case f.mark.Options != "" && f.mark.Options != f.options:
		return true
	}
	_, foreign := f.cluster.Labels[names.NonManagedAgentLabel]
	return foreign
}

// agents are all that are managed, for a wave.
func (h *handler) agents(now time.Time) []agent {
	cfg := h.Config.Get()
	clusters, err := h.Clusters.Cache().List("", labels.Everything())
	if err != nil {
		return nil // a cache that runs does not fail
	}
	settings, canaries := h.Settings(cfg), canariesOf(cfg)
	var out []agent
	for _, c := range clusters {
		if !isCounted(c, cfg) {
			continue
		}
		options, _, err := agentmanifest.Effective(c, settings)
		if err != nil {
			continue
		}
		if f, err := h.observe(c, options, canaries, now); err == nil && f.other == nil {
			out = append(out, f.agent)
		}
	}
	return out
}

// isCounted says whether a Cluster takes part in waves.
func isCounted(c *fleet.Cluster, cfg config.Config) bool {
	want, keep := wanted(c, cfg)
	_, foreign := c.Labels[names.NonManagedAgentLabel]
	return want && !keep && !foreign && !isTaken(c)
}

// isTaken says that another Cluster, or another hub, has its agent where this one's is to be.
func isTaken(c *fleet.Cluster) bool {
	imported := conditions.GetCondition(c.Status.Conditions, fleet.ClusterConditionImported)
	return imported != nil && imported.Status == corev1.ConditionFalse && imported.Reason == reasonTaken
}

func canariesOf(cfg config.Config) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(cfg.AgentUpgrade.Canary)
	if err != nil {
		return labels.Nothing() // it was checked when it was read
	}
	return selector
}
