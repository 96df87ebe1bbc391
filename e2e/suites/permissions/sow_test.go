package permissions_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/rancher/fleet/e2e/canary"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
	"github.com/rancher/fleet/pkg/target"
)

// The values that are chosen: nothing else has them.
const (
	bundleValue     = "canary-of-the-bundles-values-3f9a"
	downstreamValue = "canary-of-valuesFrom-81c2"
	copiedValue     = "canary-of-a-copy-d40e"
	driftedValue    = "canary-of-a-drift-77b1"
	proxyPassword   = "canary-of-a-proxy-password-5e06"
	refusedToken    = "canary-of-a-kubeconfigs-token-b2d8"
	// ownProxy is the password in the environment of hub and agents, which is in no object.
	ownProxy = "canary-of-the-own-proxy-0c44"
)

const (
	sown    = "sown"
	refused = "refused"
)

// sow puts every kind of secret where it belongs, and returns all of them. Each has done its work when it returns.
func (b *bed) sow(t *testing.T) []canary.Value {
	t.Helper()
	values := []canary.Value{
		{Name: "Helm value of a bundle", Data: []byte(bundleValue)},
		{Name: "Helm value of valuesFrom", Data: []byte(downstreamValue)},
		{Name: "copied Secret", Data: []byte(copiedValue)},
		{Name: "value of a Secret that has drifted", Data: []byte(driftedValue)},
		{Name: "password of a proxy", Data: []byte(proxyPassword)},
		{Name: "token of a kubeconfig that is refused", Data: []byte(refusedToken)},
	}
	jwt := b.newToken(t, "canary", fleet.ClusterRegistrationTokenSpec{})
	values = append(values, signature(t, "token of a person's registration token", jwt))
	imports, err := b.TokenValues(stage.Until(t, patience), stage.Workspace, names.ImportToken(edge))
	require.NoError(t, err)
	values = append(values, signature(t, "token of an import", imports["token"].(string)))
	values = append(values, b.ofTheAgent(t)...)
	admin, err := b.edge.AdminToken()
	require.NoError(t, err)
	values = append(values, canary.Value{Name: "token of a kubeconfig", Data: []byte(admin)})

	b.sowRefused(t)
	b.sowBundle(t)
	return values
}

// signature is the secret part of a JWT.
func signature(t *testing.T, name, jwt string) canary.Value {
	t.Helper()
	parts := strings.Split(jwt, ".")
	require.Len(t, parts, 3, name)
	return canary.Value{Name: name, Data: []byte(parts[2])}
}

// ofTheAgent are its credential and its key.
func (b *bed) ofTheAgent(t *testing.T) []canary.Value {
	t.Helper()
	secrets := b.edge.Kube.CoreV1().Secrets(stage.SystemNamespace)
	credential, err := secrets.Get(t.Context(), names.AgentCredentialStore, metav1.GetOptions{})
	require.NoError(t, err)
	kubeconfig, err := clientcmd.Load(credential.Data["kubeconfig"])
	require.NoError(t, err)
	require.Len(t, kubeconfig.AuthInfos, 1)
	identity, err := secrets.Get(t.Context(), names.AgentIdentitySecret, metav1.GetOptions{})
	require.NoError(t, err)
	values := []canary.Value{{Name: "key of an agent", Data: identity.Data[registration.KeyPrivateKey]}}
	for _, user := range kubeconfig.AuthInfos {
		values = append(values, signature(t, "credential of an agent", user.Token))
	}
	return values
}

// sowRefused makes a Cluster whose kubeconfig has secrets and leads nowhere: the hub says so.
func (b *bed) sowRefused(t *testing.T) {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{
		Server: "https://downstream.invalid:6443", CertificateAuthorityData: b.edge.CA(),
		ProxyURL: "http://somebody:" + proxyPassword + "@127.0.0.1:9",
	}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: refusedToken}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	content, err := clientcmd.Write(*config)
	require.NoError(t, err)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: refused}, Data: map[string][]byte{"value": content}}
	_, err = b.Hub.Kube.CoreV1().Secrets(stage.Workspace).Create(t.Context(), secret, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, stage.Create(t.Context(), b.Hub, stage.Clusters, "Cluster", stage.Workspace, &fleet.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: refused}, Spec: fleet.ClusterSpec{KubeConfigSecret: refused},
	}))
	_, err = b.AwaitCluster(stage.Until(t, patience), stage.Workspace, refused, "an import that fails", func(c *fleet.Cluster) bool {
		imported := stage.Condition(c.Status.Conditions, fleet.ClusterConditionImported)
		return imported != nil && imported.Status == corev1.ConditionFalse && strings.HasPrefix(imported.Reason, "Unreach")
	})
	require.NoError(t, err)
}

// chart renders a Secret from what it is given.
var chart = []fleet.BundleResource{
	{Name: "Chart.yaml", Content: "apiVersion: v2\nname: sown\nversion: 1.0.0\n"},
	{Name: "templates/secret.yaml", Content: "apiVersion: v1\nkind: Secret\nmetadata: {name: made}\n" +
		"stringData: {one: {{ .Values.password | quote }}, two: {{ .Values.other | quote }}}\n"},
}

// sowBundle deploys a chart with values from both sides and a copy, and changes on the cluster what it made.
func (b *bed) sowBundle(t *testing.T) {
	t.Helper()
	ctx := stage.Until(t, patience)
	data := map[string][]byte{"values.yaml": []byte("password: " + bundleValue + "\n")}
	hash, err := target.ValuesHash(data)
	require.NoError(t, err)
	for _, secret := range []*corev1.Secret{
		{ObjectMeta: metav1.ObjectMeta{Name: sown}, Type: fleet.SecretTypeBundleValues, Data: data},
		{ObjectMeta: metav1.ObjectMeta{Name: "copied"}, Data: map[string][]byte{"key": []byte(copiedValue)}},
	} {
		_, err := b.Hub.Kube.CoreV1().Secrets(stage.Workspace).Create(ctx, secret, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	_, err = b.edge.Kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: sown}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = b.edge.Kube.CoreV1().Secrets(sown).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "given"}, Data: map[string][]byte{"values.yaml": []byte("other: " + downstreamValue + "\n")},
	}, metav1.CreateOptions{})
	require.NoError(t, err)

	bundle := &fleet.Bundle{ObjectMeta: metav1.ObjectMeta{Name: sown}}
	bundle.Spec.DefaultNamespace, bundle.Spec.ValuesHash, bundle.Spec.Resources = sown, hash, chart
	bundle.Spec.Targets = []fleet.BundleTarget{{ClusterName: edge}}
	bundle.Spec.DownstreamResources = []fleet.DownstreamResource{{Kind: "Secret", Name: "copied"}}
	bundle.Spec.Helm = &fleet.HelmOptions{ValuesFrom: []fleet.ValuesFrom{{SecretKeyRef: &fleet.SecretKeySelector{
		LocalObjectReference: fleet.LocalObjectReference{Name: "given"}, Namespace: sown, Key: "values.yaml",
	}}}}
	require.NoError(t, stage.Create(ctx, b.Hub, stage.Bundles, "Bundle", stage.Workspace, bundle))
	b.awaitMade(t, "one", bundleValue)
	b.awaitMade(t, "two", downstreamValue)

	_, err = b.edge.Kube.CoreV1().Secrets(sown).Patch(ctx, "made", types.MergePatchType, []byte(`{"stringData":{"one":"`+driftedValue+`"}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	b.awaitDrift(t)
}

// awaitMade waits until the chart's Secret has a value.
func (b *bed) awaitMade(t *testing.T, key, value string) {
	t.Helper()
	await(t, "the Secret of the chart", func(ctx context.Context) (bool, string, error) {
		made, err := b.edge.Kube.CoreV1().Secrets(sown).Get(ctx, "made", metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		return string(made.Data[key]) == value, "another value", nil
	})
}

// awaitDrift waits until the hub says that somebody has changed what the bundle made.
func (b *bed) awaitDrift(t *testing.T) {
	t.Helper()
	await(t, "the status to tell of the change", func(ctx context.Context) (bool, string, error) {
		bundle, err := stage.Get[fleet.Bundle](ctx, b.Hub, stage.Bundles, stage.Workspace, sown)
		if err != nil || bundle == nil {
			return false, "no bundle", err
		}
		return bundle.Status.Summary.Modified > 0, stage.Conditions(bundle.Status.Conditions), nil
	})
}
