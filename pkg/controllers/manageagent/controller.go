package manageagent

import (
	"context"
	"fmt"
	"time"

	"github.com/rancher/wrangler/v3/pkg/apply"
	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/clock"

	"github.com/rancher/fleet/pkg/agentbundle"
	"github.com/rancher/fleet/pkg/agentmanifest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/desired"
	fleetv1 "github.com/rancher/fleet/pkg/generated/controllers/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

const handlerName = "fleet-manage-agent"

var clusterKind = fleet.SchemeGroupVersion.WithKind("Cluster")

// Deps is what this controller works with.
type Deps struct {
	Clusters fleetv1.ClusterController
	Bundles  fleetv1.BundleController
	Apply    apply.Apply
	Config   *config.Source
	Settings func(config.Config) agentmanifest.Settings
	Clock    clock.PassiveClock
	// Waiting is how many agents asked lately and have no answer yet; nil for a hub that does not know.
	Waiting func() int
	// Agents is told which specs of agents' bundles are the hub's own.
	Agents *agentbundle.Ledger
}

// set makes the bundle exist, or takes it away.
type set interface {
	Apply(ctx context.Context, owner desired.Owner, objs ...runtime.Object) error
	Remove(ctx context.Context, ownerGVK schema.GroupVersionKind, ownerNamespace, ownerName string) error
}

type handler struct {
	Deps
	bundles set
	ctx     context.Context
	waves   *table
	// recent is what was written and is not in the cache yet.
	recent *recent
}

// Register starts the controller with the factories behind deps.
func Register(ctx context.Context, deps Deps) {
	h := &handler{
		Deps: deps, ctx: ctx, recent: newRecent(),
		bundles: desired.New(deps.Apply, desired.Set{
			ID: names.SetManageAgent, Kinds: []apply.InformerGetter{deps.Bundles}, OwnerReferences: true,
		}),
	}
	h.waves = newTable(h)
	h.addIndexer()
	deps.Clusters.OnChange(ctx, handlerName, h.onChange)
	kube.Watch(ctx, handlerName+"-bundles", h.clusterOfBundle, kube.Debounced(deps.Clusters, 0), deps.Bundles)
	deps.Config.Subscribe(handlerName, h.onConfig)
}

// clustersByBundle indexes Clusters by the name of their agents' bundles.
const clustersByBundle = "fleet.manageagent.bundles"

func (h *handler) addIndexer() {
	h.Clusters.Cache().AddIndexer(clustersByBundle, func(c *fleet.Cluster) ([]string, error) {
		return []string{c.Namespace + "/" + names.AgentBundle(c.Name)}, nil
	})
}

// clusterOfBundle brings a Cluster back whose agent bundle was edited or deleted, or another that had its name.
func (h *handler) clusterOfBundle(namespace, name string, _ runtime.Object) ([]relatedresource.Key, error) {
	clusters, err := h.Clusters.Cache().GetByIndex(clustersByBundle, namespace+"/"+name)
	if err != nil {
		return nil, err
	}
	var keys []relatedresource.Key
	for _, c := range clusters {
		keys = append(keys, relatedresource.Key{Namespace: c.Namespace, Name: c.Name})
	}
	return keys, nil
}

func newTable(h *handler) *table {
	return &table{fill: h.agents, policy: func() policy {
		upgrade := h.Config.Get().AgentUpgrade
		p := policy{soak: upgrade.Soak.Duration, maxUnavailable: intstr.FromInt32(1)}
		if upgrade.MaxUnavailable != nil {
			p.maxUnavailable = *upgrade.MaxUnavailable
		}
		return p
	}}
}

// onConfig has every Cluster looked at again: a new image or interval reaches all agents without another trigger.
func (h *handler) onConfig(context.Context, config.Config) error {
	h.waves.reset()
	clusters, err := h.Clusters.Cache().List("", labels.Everything())
	if err != nil {
		return fmt.Errorf("listing clusters: %w", err)
	}
	for _, c := range clusters {
		h.Clusters.EnqueueAfter(c.Namespace, c.Name, 0)
	}
	return nil
}

func (h *handler) onChange(id string, cluster *fleet.Cluster) (*fleet.Cluster, error) {
	cfg, now := h.Config.Get(), h.Clock.Now()
	place := relatedresource.FromString(id)
	if cluster == nil {
		h.Agents.Forget(place.Namespace, place.Name)
	}
	defer h.goOn(place, now)
	want, keep := wanted(cluster, cfg)
	if keep || !want || !isCounted(cluster, cfg) {
		h.waves.forget(key{place.Namespace, place.Name})
	}
	if keep || want && isTaken(cluster) {
		return cluster, nil // condition Imported says what a taken namespace waits for
	}
	if !want {
		if err := h.bundles.Remove(h.ctx, clusterKind, cluster.Namespace, cluster.Name); err != nil {
			return cluster, fmt.Errorf("removing the agent bundle of cluster %s/%s: %w", cluster.Namespace, cluster.Name, err)
		}
		return cluster, nil
	}
	options, _, err := agentmanifest.Effective(cluster, h.Settings(cfg))
	if err != nil {
		h.waves.forget(key{cluster.Namespace, cluster.Name})
		// Bad options are for a person to correct; to try again before that is of no use.
		return cluster, h.report(cluster, metav1.ConditionFalse, "InvalidAgentOptions", err.Error(), verdict{})
	}
	f, err := h.observe(cluster, options, canariesOf(cfg), now)
	if err != nil {
		return cluster, err
	}
	if f.other != nil {
		h.waves.forget(f.agent.key)
		return cluster, h.giveWay(f)
	}
	if wait := max(h.givesWay(f, now), h.unseen(f, now)); wait > 0 {
		h.Clusters.EnqueueAfter(cluster.Namespace, cluster.Name, wait)
		return cluster, nil
	}
	v, err := h.upgrade(f, options, isCounted(cluster, cfg), now)
	if err != nil {
		return cluster, err
	}
	if !v.again.IsZero() {
		h.Clusters.EnqueueAfter(cluster.Namespace, cluster.Name, v.again.Sub(now)+time.Second)
	}
	if v.changed {
		return cluster, h.report(cluster, metav1.ConditionFalse, reasonBundleChanged, putBack(cluster), v)
	}
	return cluster, h.report(cluster, metav1.ConditionTrue, "", "", v)
}

// giveWay is for a Cluster whose agent's bundle has a name that another has. To take that over would change what somebody
// deploys, and mix it with the agent's own; one that is going needs no word.
func (h *handler) giveWay(f facts) error {
	if isGoing(f.other, f.cluster) {
		return nil // its end brings the Cluster back
	}
	return h.report(f.cluster, metav1.ConditionFalse, reasonBundleTaken, taken(f.cluster), verdict{})
}

// upgrade writes the bundle, unless it is not its turn.
func (h *handler) upgrade(f facts, options agentmanifest.Options, counted bool, now time.Time) (verdict, error) {
	record, _ := registration.ImportOf(f.cluster.Annotations)
	waved := false
	if !atOnce(f, record.Generation) && !h.isForeign(f) {
		w := h.waves.ask(f.agent, now)
		switch {
		case !f.agent.reachable:
			return judge(f, standsBy(f.cluster), now), nil
		case !w.now[f.agent.key]:
			return judge(f, w.told(f.cluster.Namespace), now), nil
		}
		waved = true
	}
	bundle, err := bundleFor(f.cluster, options)
	if err != nil {
		return verdict{}, err
	}
	if f.mark.Generation != f.agent.desired {
		f.mark = mark{Generation: f.agent.desired, Waved: waved, Import: importDigest(f.cluster), Written: now.UTC().Truncate(time.Second)}
	}
	f.mark.Options = f.options
	bundle.Annotations = map[string]string{names.AgentUpgradeAnnotation: f.mark.String()}
	bundle.Finalizers = finalizersOf(f.bundle)
	foreign := h.isForeign(f)
	if f.bundle != nil {
		h.Agents.Found(f.cluster, agentbundle.Digest(f.bundle.Spec))
	}
	h.Agents.Write(f.cluster, agentbundle.Digest(bundle.Spec))
	if replaced, err := h.putBack(f, bundle, foreign); err != nil || replaced {
		return verdict{changed: foreign && err == nil}, err
	}
	if err := h.bundles.Apply(h.ctx, f.cluster, bundle); err != nil {
		f.agent.failing = f.agent.waits()
		h.keep(f.agent, counted)
		return verdict{}, fmt.Errorf("agent bundle of cluster %s/%s: %w", f.cluster.Namespace, f.cluster.Name, err)
	}
	if markOf(f.bundle).Generation != f.mark.Generation {
		h.recent.wrote(f.cluster, f.mark, now)
	}
	f.agent = agentOf(f, f.agent.desired, canariesOf(h.Config.Get()), now)
	h.keep(f.agent, counted)
	return judge(f, "", now), nil
}

func (h *handler) keep(a agent, counted bool) {
	if counted {
		h.waves.put(a)
	}
}

// goOn has those looked at whom a change of one Cluster concerns.
func (h *handler) goOn(place relatedresource.Key, now time.Time) {
	look, again := h.waves.next(now)
	for _, k := range look {
		if k.namespace != place.Namespace || k.name != place.Name {
			h.Clusters.EnqueueAfter(k.namespace, k.name, 0)
		}
	}
	if !again.IsZero() {
		h.Clusters.EnqueueAfter(place.Namespace, place.Name, again.Sub(now)+time.Second)
	}
}

// report writes conditions Reconciled and AgentUpgraded, but not for their own sake: that all is well needs no write of
// its own when nothing was wrong before.
func (h *handler) report(cluster *fleet.Cluster, value metav1.ConditionStatus, reason, message string, v verdict) error {
	silent := value == metav1.ConditionTrue && conditions.GetCondition(cluster.Status.Conditions, fleet.ClusterConditionReconciled) == nil
	if silent && v.reason == "" {
		return nil
	}
	now := h.Clock.Now()
	_, err := kube.UpdateStatus(h.Clusters, cluster.Namespace, cluster.Name, kube.ClusterStatus, func(status *fleet.ClusterStatus) {
		if !silent {
			conditions.SetCondition(&status.Conditions, fleet.ClusterConditionReconciled, value, reason, message, now)
		}
		if v.reason != "" {
			conditions.SetCondition(&status.Conditions, fleet.ClusterConditionAgentUpgraded, v.status, v.reason, v.message, now)
		}
	})
	return err
}
