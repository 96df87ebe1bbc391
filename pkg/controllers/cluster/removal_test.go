package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// removing makes a Cluster one that goes after its bundles.
func removing(c *fleet.Cluster) { c.Spec.OnDelete = config.OnDeleteRemove }

// said has the agent report, so long after the deletion, how many bundles there are and which are still to be removed.
func said(after time.Duration, count int, going ...string) func(*fleet.Cluster) {
	return func(c *fleet.Cluster) {
		c.Status.Agent = fleet.AgentStatus{LastSeen: metav1.NewTime(now.Add(after)), Bundles: &fleet.AgentBundles{Count: count, Removing: going}}
	}
}

// begun notes that the removal began with the deletion, when the agent's last report was of a minute before.
func begun(c *fleet.Cluster) {
	noted := registration.Leaving{Since: now, Heard: now.Add(-time.Minute)}
	metav1.SetMetaDataAnnotation(&c.ObjectMeta, names.LeavingAnnotation, noted.Annotation())
}

func bundleDeployment(name string, change ...func(*fleet.BundleDeployment)) *fleet.BundleDeployment {
	bd := &fleet.BundleDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: place(), Name: name, UID: types.UID("uid-of-" + name)}}
	for _, f := range change {
		f(bd)
	}
	return bd
}

func TestTheEndOfARemoval(t *testing.T) {
	some := []*fleet.BundleDeployment{bundleDeployment("app")}
	const timeout = 5 * time.Minute
	for name, test := range map[string]struct {
		cluster     []func(*fleet.Cluster)
		deployments []*fleet.BundleDeployment
		after       time.Duration
		spared      string
		cutOff      bool
		// done, begins, removes and waits say which step it is; incomplete is in what is said to have stayed.
		done, begins, removes, waits bool
		incomplete                   string
	}{
		"nothing is there":                           {done: true},
		"the agent says that nothing is there":       {cluster: []func(*fleet.Cluster){said(-time.Hour, 0)}, done: true},
		"it begins with a note":                      {deployments: some, begins: true},
		"it begins for what was removed before":      {cluster: []func(*fleet.Cluster){said(-time.Second, 1, "app")}, begins: true},
		"once noted they are removed":                {cluster: []func(*fleet.Cluster){begun}, deployments: some, removes: true, waits: true},
		"they are gone and the agent said nothing":   {cluster: []func(*fleet.Cluster){begun}, waits: true},
		"a word of before does not count":            {cluster: []func(*fleet.Cluster){begun, said(-time.Minute, 0)}, waits: true},
		"the agent is at it":                         {cluster: []func(*fleet.Cluster){begun, said(time.Second, 1, "app")}, waits: true},
		"the agent is done":                          {cluster: []func(*fleet.Cluster){begun, said(time.Second, 0)}, done: true},
		"a clock that is behind is no reason":        {cluster: []func(*fleet.Cluster){begun, said(-time.Hour, 0)}, done: true},
		"done says nothing while one is there":       {cluster: []func(*fleet.Cluster){begun, said(time.Second, 0)}, deployments: some, removes: true, waits: true},
		"just before its time":                       {cluster: []func(*fleet.Cluster){begun}, after: timeout - time.Second, waits: true},
		"its time is over":                           {cluster: []func(*fleet.Cluster){begun, said(time.Second, 2, "app", "db")}, after: timeout, done: true, incomplete: "2 bundles (app, db)"},
		"its time is over for deployments":           {cluster: []func(*fleet.Cluster){begun}, deployments: some, after: timeout, done: true, incomplete: "1 BundleDeployments are still there (app)"},
		"its time is over for an agent that is mute": {cluster: []func(*fleet.Cluster){begun}, after: timeout, done: true, incomplete: "has not said"},
		"its time is over for the last word":         {cluster: []func(*fleet.Cluster){begun, said(-time.Minute, 0)}, after: timeout, done: true, incomplete: "yet to say"},
		"done, and its time is over":                 {cluster: []func(*fleet.Cluster){begun, said(time.Second, 0)}, after: 2 * timeout, done: true},
		"the agent was cut off":                      {cluster: []func(*fleet.Cluster){begun}, cutOff: true, done: true, incomplete: "no access"},
		"it never had one":                           {deployments: some, cutOff: true, done: true, incomplete: "no access"},
		"it never had one, nor anything else":        {cutOff: true, done: true},
		"the workspace goes":                         {deployments: some, spared: "the workspace goes", done: true, incomplete: "since the workspace goes"},
		"the workspace goes, with nothing there":     {spared: "the workspace goes", done: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(append([]func(*fleet.Cluster){prepare, deleted, removing}, test.cluster...)...)
			step := decideRemoval(removal{
				cluster: c, now: now.Add(test.after), timeout: timeout, deployments: test.deployments, access: !test.cutOff, spared: test.spared,
			})
			assert.Equal(t, test.done, step.done, "done")
			assert.Equal(t, test.begins, step.begin != nil, "begins")
			assert.Equal(t, test.removes, len(step.remove) > 0, "removes")
			assert.Equal(t, test.waits, step.waiting != "", "waits")
			if test.incomplete == "" {
				assert.Empty(t, step.incomplete)
			} else {
				assert.Contains(t, step.incomplete, test.incomplete)
			}
			if !test.done {
				assert.Equal(t, timeout-test.after, step.ends.Sub(now.Add(test.after)))
			}
		})
	}
}

func TestWhatIsBeingDeletedIsNotDeletedAgain(t *testing.T) {
	going := bundleDeployment("going", func(bd *fleet.BundleDeployment) { bd.DeletionTimestamp = &metav1.Time{Time: now} })
	staying := bundleDeployment("staying")
	step := decideRemoval(removal{
		cluster: newCluster(prepare, deleted, removing, begun), now: now, timeout: time.Minute, access: true,
		deployments: []*fleet.BundleDeployment{going, staying},
	})
	assert.Equal(t, []*fleet.BundleDeployment{staying}, step.remove)
	assert.Contains(t, step.waiting, "2 BundleDeployments are still there (going, staying)")
	assert.Contains(t, step.waiting, "since 2026-03-01T12:00:00Z and until 2026-03-01T12:01:00Z")
}

// What an agent reports may be any text, and names of any number.
func TestWhatIsLeftIsSaidBriefly(t *testing.T) {
	var many []*fleet.BundleDeployment
	var reported []string
	for _, letter := range "abcdefghijklmnop" {
		many = append(many, bundleDeployment(string(letter)))
		reported = append(reported, string(letter)+"\n"+strings.Repeat("x", 500))
	}
	in := removal{cluster: newCluster(prepare, deleted, said(0, 1000, reported...)), deployments: many}
	assert.Contains(t, in.left(), "16 BundleDeployments are still there (a, b, c, d, e, and 11 more)")
	assert.Contains(t, in.left(), "1000 bundles (a?x")
	assert.Contains(t, in.left(), "and 995 more")
	assert.Less(t, len(in.left()), 700)
	assert.NotContains(t, in.left(), "\n")
}

// removingHub has a connected Cluster that is being deleted and is to lose its bundles first.
func removingHub(t *testing.T, change ...func(*fleet.Cluster)) *hub {
	t.Helper()
	h := newHub(t)
	h.clusters.Add(newCluster(append([]func(*fleet.Cluster){prepare, deleted, removing, said(-time.Minute, 2)}, change...)...))
	h.registrations.Add(request("request-1", func(r *fleet.ClusterRegistration) { r.Status.Granted = true }))
	h.accounts.Add(account("request-1-account"))
	h.namespaces.Add(namespace(ownedBy(edgeUID)))
	ws := namespace(nil)
	ws.Name, ws.UID = workspace, "uid-of-workspace"
	h.namespaces.Add(ws)
	h.deployments.Add(bundleDeployment("app"), bundleDeployment("db"),
		bundleDeployment("fleet-agent-edge", func(bd *fleet.BundleDeployment) { bd.Labels = map[string]string{names.AgentBundleLabel: "true"} }))
	h.writes()
	return h
}

// report writes what an agent says.
func (h *hub) report(t *testing.T, change func(*fleet.Cluster)) {
	t.Helper()
	c := h.clusters.Live(workspace, edge).DeepCopy()
	change(c)
	h.clusters.Add(c)
	h.writes()
}

const (
	revokes = "delete ClusterRegistration fleet-default/request-1"
	notes   = "update Cluster fleet-default/edge"
	reports = "updateStatus Cluster fleet-default/edge"
)

func TestAClusterLosesItsBundlesBeforeItsAccess(t *testing.T) {
	h := removingHub(t)
	require.NoError(t, h.look(t))
	assert.Equal(t, []string{notes}, h.writes(), "what was said before is noted before anything goes")

	require.NoError(t, h.look(t))
	assert.Equal(t, []string{"delete BundleDeployment " + place() + "/app", "delete BundleDeployment " + place() + "/db", reports}, h.writes(), "all but its own agent's")
	reason, message := h.processed(t)
	assert.Equal(t, "Leaving", reason)
	assert.Contains(t, message, "2 BundleDeployments")
	after, ok := h.clusters.After(workspace, edge)
	require.True(t, ok)
	assert.LessOrEqual(t, after, lookAgain)

	require.NoError(t, h.look(t))
	_, message = h.processed(t)
	assert.Contains(t, message, "its agent has yet to remove 2 bundles")
	h.writes()
	require.NoError(t, h.look(t))
	assert.Empty(t, h.writes(), "waiting writes nothing")

	h.report(t, said(time.Second, 1, "db"))
	require.NoError(t, h.look(t))
	assert.Equal(t, []string{reports}, h.writes())
	h.report(t, said(2*time.Second, 0))
	require.NoError(t, h.look(t))
	assert.Equal(t, []string{revokes, reports}, h.writes())
	reason, _ = h.processed(t)
	assert.Equal(t, "Leaving", reason)

	h.accounts.Remove(hubNames().Agents, "request-1-account")
	require.NoError(t, h.look(t))
	assert.NotContains(t, h.writes(), reports, "nothing stayed of which anybody would have to know")
	assert.Equal(t, 1, h.deployments.Len(), "the agent's own goes with the namespace")
}

func TestARemovalEndsAndSaysWhatStayed(t *testing.T) {
	h := removingHub(t)
	for range 3 {
		require.NoError(t, h.look(t))
	}
	h.report(t, said(time.Second, 1, "db"))
	h.clock.SetTime(now.Add(config.DefaultOnDeleteTimeout))
	require.NoError(t, h.look(t))
	assert.Equal(t, []string{reports, revokes, reports}, h.writes())
	reason, message := h.processed(t)
	assert.Equal(t, "RemovalIncomplete", reason)
	assert.Contains(t, message, "1 bundles (db)")
	assert.Contains(t, message, "registration requests", "what it waits for now is said too")

	h.accounts.Remove(hubNames().Agents, "request-1-account")
	require.NoError(t, h.look(t))
	assert.NotContains(t, h.clusters.Live(workspace, edge).Finalizers, names.ClusterFinalizer)
}

func TestWhoIsToKeepKeeps(t *testing.T) {
	for name, test := range map[string]struct {
		change func(t *testing.T, h *hub)
		// said is in what is told of what stayed, empty where nothing is.
		said string
	}{
		"keep":          {func(t *testing.T, h *hub) { h.report(t, func(c *fleet.Cluster) { c.Spec.OnDelete = "keep" }) }, ""},
		"default":       {func(t *testing.T, h *hub) { h.report(t, func(c *fleet.Cluster) { c.Spec.OnDelete = "" }) }, ""},
		"revoked":       {func(t *testing.T, h *hub) { h.report(t, func(c *fleet.Cluster) { c.Spec.Revoked = true }) }, ""},
		"never granted": {func(_ *testing.T, h *hub) { h.registrations.Add(request("request-1")) }, "no access"},
		"no account":    {func(_ *testing.T, h *hub) { h.accounts.Remove(hubNames().Agents, "request-1-account") }, "no access"},
		"the workspace is deleted": {func(_ *testing.T, h *hub) {
			ws := namespace(nil)
			ws.Name, ws.DeletionTimestamp = workspace, &metav1.Time{Time: now}
			h.namespaces.Add(ws)
		}, "whole workspace"},
		"the kind is deleted":   {func(_ *testing.T, h *hub) { h.definition = nil }, "definition of Bundles"},
		"its namespace is gone": {func(_ *testing.T, h *hub) { h.namespaces.Remove("", place()) }, "namespace on the hub is gone"},
		"a foreign namespace":   {func(_ *testing.T, h *hub) { h.namespaces.Add(namespace(ownedBy("uid-2"))) }, "namespace on the hub is gone"},
		"the namespace is going": {func(_ *testing.T, h *hub) {
			ns := namespace(ownedBy(edgeUID))
			ns.DeletionTimestamp = &metav1.Time{Time: now}
			h.namespaces.Add(ns)
		}, "namespace on the hub is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			h := removingHub(t)
			test.change(t, h)
			for range 3 {
				require.NoError(t, h.look(t))
			}
			writes := h.writes()
			assert.NotContains(t, strings.Join(writes, "\n"), "BundleDeployment")
			assert.Contains(t, writes, revokes)
			assert.Equal(t, 3, h.deployments.Len())
			reason, message := h.processed(t)
			if test.said == "" {
				assert.Equal(t, "Leaving", reason)
			} else {
				assert.Equal(t, "RemovalIncomplete", reason)
				assert.Contains(t, message, test.said)
			}
		})
	}
}

// Who changes his mind on the way keeps what is not removed yet.
func TestARemovalStopsWhenItIsNoLongerWanted(t *testing.T) {
	h := removingHub(t, begun)
	h.clusters.Lag = true
	kept := h.clusters.Live(workspace, edge).DeepCopy()
	kept.Spec.OnDelete = "keep"
	_, err := h.clusters.Update(kept)
	require.NoError(t, err)
	h.writes()
	require.NoError(t, h.look(t))
	assert.Empty(t, h.writes(), "what the cache has is looked at live before anything goes")

	h.clusters.Sync()
	require.NoError(t, h.look(t))
	assert.Equal(t, []string{revokes, reports}, h.writes())
	assert.Equal(t, 3, h.deployments.Len())
}

// A bundle may reach a leaving cluster in the last moment, and the cache may be behind.
func TestWhatTheCacheDoesNotShowIsRemovedToo(t *testing.T) {
	h := removingHub(t, begun, said(time.Second, 0))
	h.deployments.Hide(place(), "app")
	h.deployments.Hide(place(), "db")
	require.NoError(t, h.look(t))
	assert.Equal(t, []string{"delete BundleDeployment " + place() + "/app", "delete BundleDeployment " + place() + "/db", reports}, h.writes())
}

func TestARemovalGoesOnAfterAnyFailure(t *testing.T) {
	for _, call := range []string{
		notes, "get Namespace " + place(), "get Namespace " + workspace, "get definition", "get Cluster fleet-default/edge",
		"delete BundleDeployment " + place() + "/app", reports,
	} {
		t.Run(call, func(t *testing.T) {
			h := removingHub(t)
			h.fails[call] = assert.AnError
			var err error
			for range 3 {
				if err = h.look(t); err != nil {
					break
				}
			}
			require.ErrorIs(t, err, assert.AnError)
			assert.ErrorContains(t, err, "fleet-default/edge")
			assert.NotContains(t, h.writes(), revokes)

			delete(h.fails, call)
			for range 3 {
				require.NoError(t, h.look(t))
			}
			assert.Equal(t, 1, h.deployments.Len())
			h.report(t, said(time.Minute, 0))
			require.NoError(t, h.look(t))
			assert.Contains(t, h.writes(), revokes)
		})
	}
}

func TestALeavingClusterIsLookedAtWhenADeploymentIsGone(t *testing.T) {
	h := removingHub(t)
	h.onDeployment(nil, bundleDeployment("app"))
	_, ok := h.clusters.After(workspace, edge)
	assert.False(t, ok)
	h.onDeployment(bundleDeployment("app"), nil)
	_, ok = h.clusters.After(workspace, edge)
	assert.True(t, ok)

	h = removingHub(t, func(c *fleet.Cluster) { c.DeletionTimestamp = nil })
	h.onDeployment(bundleDeployment("app"), nil)
	_, ok = h.clusters.After(workspace, edge)
	assert.False(t, ok, "that is none of its business while it lives")
}
