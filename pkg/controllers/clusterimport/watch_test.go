package clusterimport

import (
	"testing"

	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

func importToken(changes ...func(*fleet.ClusterRegistrationToken)) *fleet.ClusterRegistrationToken {
	t := &fleet.ClusterRegistrationToken{ObjectMeta: metav1.ObjectMeta{
		Namespace: workspace, Name: tokenName, UID: tokenUID, CreationTimestamp: metav1.NewTime(now),
		OwnerReferences: []metav1.OwnerReference{{Kind: "Cluster", Name: edge, UID: edgeUID}},
	}}
	for _, f := range changes {
		f(t)
	}
	return t
}

func TestEveryChangeFindsItsClusters(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(cluster(), cluster(func(c *fleet.Cluster) {
		c.Namespace, c.Name, c.Spec.KubeConfigSecretNamespace = "other", "b", workspace
	}), cluster(func(c *fleet.Cluster) { c.Name, c.Spec.KubeConfigSecret = "c", "" }))
	h.tokens.Add(importToken())
	account := func(namespace, owner string) *corev1.ServiceAccount {
		return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Annotations: map[string]string{names.OwnerAnnotation: owner}}}
	}
	own := "ClusterRegistrationToken/" + workspace + "/" + tokenName + "/u"
	edgeKey := relatedresource.Key{Namespace: workspace, Name: edge}
	values := valuesOf(t, importToken(), "t")
	for name, test := range map[string]struct {
		resolve         relatedresource.Resolver
		namespace, name string
		obj             runtime.Object
		want            []relatedresource.Key
	}{
		"a kubeconfig of two clusters":   {h.clustersOfSecret, workspace, "kubeconfig", kubeconfigSecret(nil), []relatedresource.Key{edgeKey, {Namespace: "other", Name: "b"}}},
		"a kubeconfig that is gone":      {h.clustersOfSecret, workspace, "kubeconfig", nil, []relatedresource.Key{edgeKey, {Namespace: "other", Name: "b"}}},
		"another secret":                 {h.clustersOfSecret, workspace, "x", kubeconfigSecret(nil), nil},
		"the values of the import token": {h.clustersOfSecret, workspace, tokenName, values, []relatedresource.Key{edgeKey}},
		"a user's secret of that name":   {h.clustersOfSecret, workspace, tokenName, &corev1.Secret{}, nil},
		"values of a token that is gone": {h.clustersOfSecret, workspace, "import-token-x", values, nil},
		"the import token":               {h.clustersOfToken, workspace, tokenName, importToken(), []relatedresource.Key{edgeKey}},
		"a person's token":               {h.clustersOfToken, workspace, "shared", importToken(), nil},
		"a token that is gone":           {h.clustersOfToken, workspace, tokenName, nil, []relatedresource.Key{edgeKey}},
		"the import account":             {h.clusterOfAccount, hubNames().Registration, "a", account(hubNames().Registration, own), []relatedresource.Key{edgeKey}},
		"an account elsewhere":           {h.clusterOfAccount, workspace, "a", account(workspace, own), nil},
		"an account of another token":    {h.clusterOfAccount, hubNames().Registration, "a", account(hubNames().Registration, "ClusterRegistrationToken/fleet-default/shared/u"), nil},
		"an account of a token gone":     {h.clusterOfAccount, hubNames().Registration, "a", account(hubNames().Registration, "ClusterRegistrationToken/fleet-default/import-token-x/u"), nil},
		"an account that is gone":        {h.clusterOfAccount, hubNames().Registration, "a", nil, nil},
	} {
		keys, err := test.resolve(test.namespace, test.name, test.obj)
		require.NoError(t, err, name)
		assert.ElementsMatch(t, test.want, keys, name)
	}
}

func TestAConfigurationHasAllClustersWithAKubeconfigLookedAt(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(cluster(), cluster(func(c *fleet.Cluster) { c.Name, c.Spec.KubeConfigSecret = "c", "" }))
	require.NoError(t, h.onConfig(t.Context(), testConfig()))
	after, ok := h.clusters.After(workspace, edge)
	assert.True(t, ok)
	assert.Zero(t, after)
	_, ok = h.clusters.After(workspace, "c")
	assert.False(t, ok)
}

func TestAClusterThatIsGoneIsNoWork(t *testing.T) {
	h := newHub(t)
	h.work1(t)
	assert.Empty(t, h.writes())
}
