package bundles_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

func bundle(name string, values map[string]any) *fleet.Bundle {
	b := &fleet.Bundle{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: fleet.BundleSpec{
			Resources: []fleet.BundleResource{{Name: "cm.yaml", Content: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"}},
			Targets:   []fleet.BundleTarget{{ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}}},
		},
	}
	if values != nil {
		b.Spec.Helm = &fleet.HelmOptions{Values: &fleet.GenericMap{Data: values}}
	}
	return b
}

func bundleName(i int) string { return fmt.Sprintf("b%02d", i) }

func TestBundlesReachTheirClustersAndLeaveThem(t *testing.T) {
	clusters := stage.Reduced(t, "clusters", 20, 60)
	const bundles = 5
	b := newBed(t, clusters)
	b.playAgents(t)
	ctx := t.Context()
	b.hubWrites(t)

	began := time.Now()
	for i := range bundles {
		require.NoError(t, stage.Create(ctx, b.Hub, stage.Bundles, "Bundle", stage.Workspace, bundle(bundleName(i), nil)))
	}
	for i := range bundles {
		b.awaitBundle(t, bundleName(i), clusters)
	}
	t.Logf("%d deployments were ready after %s", bundles*clusters, time.Since(began))
	b.judgeWrites(t, b.awaitQuiet(t), bundles, clusters, time.Since(began))

	b.relabel(t)
	b.values(t, clusters)
	b.removeAll(t, bundles)
	b.removeKind(t, clusters)
}

// statusEach is how often the status of a bundle under way is written, at most.
const statusEach = 2 * time.Second

// judgeWrites holds what the hub wrote to what had to be written: each deployment once, each Content once, the finalizer,
// and a status now and then. The agents wrote the words of their deployments themselves.
func (b *bed) judgeWrites(t *testing.T, writes count.Counts, bundles, clusters int, took time.Duration) {
	t.Helper()
	of := func(verb, resource, subresource string) int {
		return writes.Where(func(k count.Key) bool {
			return k.Verb == verb && k.Resource == resource && k.Subresource == subresource
		}).Total()
	}
	t.Logf("%.2f writes of the hub for each deployment:\n%s", float64(writes.Total())/float64(bundles*clusters), writes)
	assert.Equal(t, bundles*clusters, of("create", "bundledeployments", ""))
	assert.Zero(t, of("update", "bundledeployments", "")+of("update", "bundledeployments", "status"))
	assert.Zero(t, of("create", "secrets", ""))
	assert.Equal(t, bundles, of("create", "contents", ""))
	assert.Equal(t, bundles, of("update", "bundles", ""))
	assert.LessOrEqual(t, of("update", "bundles", "status"), bundles*(3+int(took/statusEach)))
}

// awaitQuiet waits until the hub writes nothing for ten seconds, as it is to be when nothing changes (C07, C09), and says
// what it wrote until then.
func (b *bed) awaitQuiet(t *testing.T) count.Counts {
	t.Helper()
	all, since := count.Counts{}, time.Now()
	await(t, "the hub writes nothing for 10 seconds", func(context.Context) (bool, string, error) {
		writes := b.hubWrites(t)
		for key, n := range writes {
			all[key] += n
		}
		if writes.Total() > 0 {
			since = time.Now()
		}
		return time.Since(since) > 10*time.Second, writes.String(), nil
	})
	return all
}

// relabel takes a cluster out of the targets and puts it back (B01).
func (b *bed) relabel(t *testing.T) {
	t.Helper()
	others := b.uids(t, bundleName(0))
	for _, step := range []struct {
		env  string
		want bool
	}{{"test", false}, {"prod", true}} {
		patch := fmt.Sprintf(`{"metadata":{"labels":{"env":%q}}}`, step.env)
		_, err := b.Hub.Dynamic.Resource(stage.Clusters).Namespace(stage.Workspace).Patch(t.Context(), clusterName(0), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		require.NoError(t, err)
		began := time.Now()
		await(t, "the deployments follow the label", func(ctx context.Context) (bool, string, error) {
			list, err := b.of(ctx, clusterName(0))
			return (len(list) > 0) == step.want, fmt.Sprint(len(list)), err
		})
		t.Logf("env=%s was followed after %s", step.env, time.Since(began))
	}
	after := b.uids(t, bundleName(0))
	for cluster, uid := range others {
		if cluster != clusterName(0) {
			assert.Equal(t, uid, after[cluster], "the deployment of %s is another", cluster)
		}
	}
}

func (b *bed) of(ctx context.Context, cluster string) ([]fleet.BundleDeployment, error) {
	list, err := stage.List[fleet.BundleDeployment](ctx, b.Hub, deployments, "")
	var kept []fleet.BundleDeployment
	for _, bd := range list {
		if bd.Labels[fleet.ClusterLabel] == cluster {
			kept = append(kept, bd)
		}
	}
	return kept, err
}

func (b *bed) uids(t *testing.T, name string) map[string]types.UID {
	t.Helper()
	list, err := stage.List[fleet.BundleDeployment](t.Context(), b.Hub, deployments, "")
	require.NoError(t, err)
	uids := map[string]types.UID{}
	for _, bd := range list {
		if bd.Name == name {
			uids[bd.Labels[fleet.ClusterLabel]] = bd.UID
		}
	}
	return uids
}

// values delivers a bundle with a secret value, which is in Secrets alone (S06), and makes a lost Secret anew.
func (b *bed) values(t *testing.T, clusters int) {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, stage.Create(ctx, b.Hub, stage.Bundles, "Bundle", stage.Workspace, bundle("secretive", map[string]any{"password": "canary"})))
	b.awaitBundle(t, "secretive", clusters)
	secrets := b.secrets(t)
	assert.Len(t, secrets, clusters)
	lost := secrets[0]
	require.NoError(t, b.Hub.Kube.CoreV1().Secrets(lost.Namespace).Delete(ctx, lost.Name, metav1.DeleteOptions{}))
	await(t, "the Secret is there again", func(ctx context.Context) (bool, string, error) {
		again := b.secrets(t)
		for i := range again {
			if again[i].Namespace == lost.Namespace && again[i].UID != lost.UID {
				return string(again[i].Data["values"]) == `{"password":"canary"}`, "it is another", nil
			}
		}
		return false, "it is gone", nil
	})
}

func (b *bed) secrets(t *testing.T) []corev1.Secret {
	t.Helper()
	list, err := b.Hub.Kube.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{
		FieldSelector: "type=" + fleet.SecretTypeBundleDeploymentOptions,
	})
	require.NoError(t, err)
	return list.Items
}

// removeAll deletes the bundles, and nothing of them stays behind.
func (b *bed) removeAll(t *testing.T, bundles int) {
	t.Helper()
	ctx := t.Context()
	all := []string{"secretive"}
	for i := range bundles {
		all = append(all, bundleName(i))
	}
	for _, name := range all {
		require.NoError(t, b.Hub.Dynamic.Resource(stage.Bundles).Namespace(stage.Workspace).Delete(ctx, name, metav1.DeleteOptions{}))
	}
	await(t, "nothing of the bundles is left", func(ctx context.Context) (bool, string, error) {
		var left [3]int
		all, err := stage.List[fleet.Bundle](ctx, b.Hub, stage.Bundles, stage.Workspace)
		if err != nil {
			return false, "", err
		}
		bds, err := stage.List[fleet.BundleDeployment](ctx, b.Hub, deployments, "")
		if err != nil {
			return false, "", err
		}
		cs, err := stage.List[fleet.Content](ctx, b.Hub, contents, "")
		left = [3]int{len(all), len(bds), len(cs)}
		return left == [3]int{} && err == nil, fmt.Sprintf("bundles, deployments, contents: %v", left), err
	})
	assert.Empty(t, b.secrets(t))
}

// removeKind deletes the definition of Bundles, as who takes the hub away or installs it anew: the Bundles go, and what they
// deployed stays (E10). No hub that comes later takes that for a wish either.
func (b *bed) removeKind(t *testing.T, clusters int) {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, stage.Create(ctx, b.Hub, stage.Bundles, "Bundle", stage.Workspace, bundle("stays", nil)))
	b.awaitBundle(t, "stays", clusters)
	before := b.uids(t, "stays")
	require.Len(t, before, clusters)

	definitions := b.Hub.Dynamic.Resource(stage.Definitions)
	require.NoError(t, definitions.Delete(ctx, names.BundleDefinition, metav1.DeleteOptions{}))
	await(t, "the definition is gone", func(ctx context.Context) (bool, string, error) {
		_, err := definitions.Get(ctx, names.BundleDefinition, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, "", nil
		}
		return false, "it is there", err
	})
	assert.Equal(t, before, b.uids(t, "stays"))

	require.NoError(t, b.InstallHub(ctx, map[string]any{"bootstrap": map[string]any{"enabled": false}}))
	require.NoError(t, stage.Create(ctx, b.Hub, stage.Bundles, "Bundle", stage.Workspace, bundle("after", nil)))
	b.awaitBundle(t, "after", clusters) // the hub sees the new kind
	assert.Equal(t, before, b.uids(t, "stays"))
}
