package registration_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// inOneWorkspace is somebody with all rights on the group in a workspace of his own, and none on Secrets.
func (w *world) inOneWorkspace(t *testing.T, workspace string) *stage.Cluster {
	t.Helper()
	return w.withRightsIn(t, workspace, "*")
}

// withRightsIn is somebody with all rights on one resource of the group in a workspace, and no others.
func (w *world) withRightsIn(t *testing.T, workspace, resource string) *stage.Cluster {
	t.Helper()
	require.NoError(t, w.EnsureNamespace(t.Context(), workspace))
	const name = "deputy"
	meta := metav1.ObjectMeta{Name: name, Namespace: workspace}
	_, err := w.Hub.Kube.CoreV1().ServiceAccounts(workspace).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = w.Hub.Kube.RbacV1().Roles(workspace).Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{fleet.SchemeGroupVersion.Group}, Resources: []string{resource}, Verbs: []string{"*"}},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = w.Hub.Kube.RbacV1().RoleBindings(workspace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: workspace, Name: name}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	who, err := w.Hub.AsAccount(t.Context(), workspace, name)
	require.NoError(t, err)
	stage.AwaitWithin(t, patience, "the rights of "+name, func(ctx context.Context) (bool, string, error) {
		_, err := who.Dynamic.Resource(stage.Clusters).Namespace(workspace).List(ctx, metav1.ListOptions{})
		return err == nil, "", err
	})
	return who
}

func naming(name, namespace, secret string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"kubeConfigSecret": secret, "kubeConfigSecretNamespace": namespace}}}
	u.SetGroupVersionKind(fleet.SchemeGroupVersion.WithKind("Cluster"))
	u.SetName(name)
	return u
}

// Attack 19: whoever may write Clusters in one workspace, and reads no Secret, must not have the hub use the kubeconfig of
// another's, its own cluster's least of all.
func TestNobodyBorrowsAKubeconfigThatHeMayNotRead(t *testing.T) {
	w := ofTheWorld(t)
	const workspace = "borrowers"
	who := w.inOneWorkspace(t, workspace)
	clusters := who.Dynamic.Resource(stage.Clusters).Namespace(workspace)
	for _, elsewhere := range []string{stage.LocalWorkspace, stage.Workspace, "cluster-x"} {
		_, err := clusters.Create(t.Context(), naming("thief", elsewhere, names.LocalKubeconfigSecret), metav1.CreateOptions{})
		require.True(t, deniedBy("fleet-cluster-kubeconfig", err), "%s: %v", elsewhere, err)
		require.ErrorContains(t, err, elsewhere+"/"+names.LocalKubeconfigSecret)
	}
	own, err := clusters.Create(t.Context(), naming("own", workspace, "his"), metav1.CreateOptions{})
	require.NoError(t, err)
	patch := []byte(`{"spec":{"kubeConfigSecretNamespace":"` + stage.Workspace + `"}}`)
	_, err = clusters.Patch(t.Context(), own.GetName(), "application/merge-patch+json", patch, metav1.PatchOptions{})
	require.True(t, deniedBy("fleet-cluster-kubeconfig", err), "%v", err)

	// Who may read it, such as a manager, writes it; and others may change the rest of such a Cluster.
	_, err = w.Hub.Dynamic.Resource(stage.Clusters).Namespace(workspace).Create(t.Context(), naming("managed", stage.Workspace, "somebodys"), metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = clusters.Patch(t.Context(), "managed", "application/merge-patch+json", []byte(`{"spec":{"paused":true}}`), metav1.PatchOptions{})
	require.NoError(t, err)

	// What opens the hub's own cluster is for Clusters of its workspace alone, whoever writes it.
	_, err = w.Hub.Dynamic.Resource(stage.Clusters).Namespace(workspace).Create(t.Context(), naming("local", stage.LocalWorkspace, names.LocalKubeconfigSecret), metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = w.AwaitCluster(stage.Until(t, patience), workspace, "local", "refused", func(c *fleet.Cluster) bool {
		imported := stage.Condition(c.Status.Conditions, fleet.ClusterConditionImported)
		return imported != nil && imported.Status == corev1.ConditionFalse && imported.Reason == "SecretNamespaceNotAllowed"
	})
	require.NoError(t, err)
}

// Attack 4: who may write Clusters, and not decide on requests, must not bind one to a key of his, nor forge what proves an
// import, nor lead the hub to another namespace.
func TestNobodyWritesWhatTheHubKeepsOnAClusterWhoMayNotDecide(t *testing.T) {
	w := ofTheWorld(t)
	const workspace = "binders"
	editor := w.withRightsIn(t, workspace, "clusters").Dynamic.Resource(stage.Clusters).Namespace(workspace)
	admin := w.Hub.Dynamic.Resource(stage.Clusters).Namespace(workspace)
	kept := []string{names.IdentityAnnotation, names.ImportAnnotation, names.PlaceAnnotation}
	patch := func(value any, key string) []byte {
		raw, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
		require.NoError(t, err)
		return raw
	}
	const merge = types.MergePatchType
	for _, key := range kept {
		forged := naming("forged", "", "")
		forged.SetAnnotations(map[string]string{key: ""})
		_, err := editor.Create(t.Context(), forged, metav1.CreateOptions{})
		require.True(t, deniedBy("fleet-cluster-annotations", err), "%s: %v", key, err)
	}
	plain := naming("plain", "", "")
	plain.SetAnnotations(map[string]string{"example.com/mine": "1"})
	_, err := editor.Create(t.Context(), plain, metav1.CreateOptions{})
	require.NoError(t, err, "as managers make Clusters")
	for _, key := range kept {
		_, err := editor.Patch(t.Context(), "plain", merge, patch("{}", key), metav1.PatchOptions{DryRun: inVain})
		require.True(t, deniedBy("fleet-cluster-annotations", err), "%s: %v", key, err)
	}

	// Who decides on requests may take a pin off, and put one there.
	_, err = admin.Patch(t.Context(), "plain", merge, patch(`{"fingerprint":"0123456789abcdef0123456789abcdef"}`, names.IdentityAnnotation), metav1.PatchOptions{})
	require.NoError(t, err)
	_, err = editor.Patch(t.Context(), "plain", merge, patch(nil, names.IdentityAnnotation), metav1.PatchOptions{})
	require.True(t, deniedBy("fleet-cluster-annotations", err), "%v", err)
	_, err = editor.Patch(t.Context(), "plain", merge, patch("2", "example.com/mine"), metav1.PatchOptions{})
	require.NoError(t, err, "what keeps them is his own business")
	found, err := editor.Get(t.Context(), "plain", metav1.GetOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, found.GetAnnotations()[names.IdentityAnnotation])
	_, err = admin.Patch(t.Context(), "plain", merge, patch(nil, names.IdentityAnnotation), metav1.PatchOptions{})
	require.NoError(t, err)
	require.NoError(t, editor.Delete(t.Context(), "plain", metav1.DeleteOptions{}))
}

// Attack 19: a mapping in one workspace opens the clusters of others, whom nobody asks.
func TestNobodyOpensTheClustersOfOtherWorkspaces(t *testing.T) {
	w := ofTheWorld(t)
	const workspace = "openers"
	who := w.inOneWorkspace(t, workspace)
	resource := fleet.SchemeGroupVersion.WithResource(fleet.BundleNamespaceMappingResourceName)
	mapping := &unstructured.Unstructured{Object: map[string]any{"bundleSelector": map[string]any{}, "namespaceSelector": map[string]any{}}}
	mapping.SetGroupVersionKind(fleet.SchemeGroupVersion.WithKind("BundleNamespaceMapping"))
	mapping.SetName("all")
	_, err := who.Dynamic.Resource(resource).Namespace(workspace).Create(t.Context(), mapping, metav1.CreateOptions{})
	require.True(t, deniedBy("fleet-bundle-mapping", err), "%v", err)

	narrow := mapping.DeepCopy()
	narrow.Object["namespaceSelector"] = map[string]any{"matchLabels": map[string]any{"a": "b"}}
	_, err = w.Hub.Dynamic.Resource(resource).Namespace(workspace).Create(t.Context(), narrow, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = who.Dynamic.Resource(resource).Namespace(workspace).Patch(t.Context(), "all", "application/merge-patch+json",
		[]byte(`{"namespaceSelector":{"matchLabels":null}}`), metav1.PatchOptions{})
	require.True(t, deniedBy("fleet-bundle-mapping", err), "%v", err)
	_, err = who.Dynamic.Resource(resource).Namespace(workspace).Patch(t.Context(), "all", "application/merge-patch+json",
		[]byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
	require.NoError(t, err, "what does not widen it is his own business")
	require.NoError(t, who.Dynamic.Resource(resource).Namespace(workspace).Delete(t.Context(), "all", metav1.DeleteOptions{}))
}

// Attack 19: the hub copies Secrets of a workspace to the clusters of a bundle, with rights of its own.
func TestNobodyHasSecretsCopiedThatHeMayNotRead(t *testing.T) {
	w := ofTheWorld(t)
	const workspace = "copiers"
	who := w.inOneWorkspace(t, workspace)
	bundle := func(name, kind string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"downstreamResources": []any{map[string]any{"kind": kind, "name": "x"}}}}}
		u.SetGroupVersionKind(fleet.SchemeGroupVersion.WithKind("Bundle"))
		u.SetName(name)
		return u
	}
	bundles := who.Dynamic.Resource(stage.Bundles).Namespace(workspace)
	_, err := bundles.Create(t.Context(), bundle("thief", "Secret"), metav1.CreateOptions{})
	require.True(t, deniedBy("fleet-bundle-copies", err), "%v", err)
	_, err = bundles.Create(t.Context(), bundle("own", "ConfigMap"), metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = bundles.Patch(t.Context(), "own", "application/merge-patch+json",
		[]byte(`{"spec":{"downstreamResources":[{"kind":"Secret","name":"x"}]}}`), metav1.PatchOptions{})
	require.True(t, deniedBy("fleet-bundle-copies", err), "%v", err)

	// Who may read them does it, and others may change the rest of such a Bundle.
	_, err = w.Hub.Dynamic.Resource(stage.Bundles).Namespace(workspace).Create(t.Context(), bundle("managed", "Secret"), metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = bundles.Patch(t.Context(), "managed", "application/merge-patch+json", []byte(`{"spec":{"paused":true}}`), metav1.PatchOptions{})
	require.NoError(t, err)
}

// Attack 20: the name of a Cluster's namespace on the hub can be worked out. Who makes it first must not be given what the hub
// puts there.
func TestNobodyWaitsInTheNamespaceOfACluster(t *testing.T) {
	w := ofTheWorld(t)
	const workspace, name = "waiters", "edge"
	place := names.ClusterNamespace(workspace, name)
	require.NoError(t, w.EnsureNamespace(t.Context(), workspace))
	_, err := w.Hub.Kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: place, Annotations: map[string]string{names.ClusterNamespaceAnnotation: workspace, names.ClusterAnnotation: name},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, stage.Create(t.Context(), w.Hub, stage.Clusters, "Cluster", workspace, &fleet.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: name}, Spec: fleet.ClusterSpec{ClientID: "waited-for"},
	}))
	blocked := func(c *fleet.Cluster) bool {
		processed := stage.Condition(c.Status.Conditions, "Processed")
		return processed != nil && processed.Reason == "NamespaceBlocked"
	}
	_, err = w.AwaitCluster(stage.Until(t, patience), workspace, name, "blocked", blocked)
	require.NoError(t, err)
	_, err = w.Hub.Kube.CoordinationV1().Leases(place).Get(t.Context(), names.HeartbeatLease, metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)

	// Who may make namespaces, and no more, cannot give them the hub's mark.
	who := w.inOneWorkspace(t, "markers")
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "makes-namespaces"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"create", "get", "update"}},
	}}
	_, err = w.Hub.Kube.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = w.Hub.Kube.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "markers", Name: "deputy"}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	marked := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: names.ClusterPlace(workspace, name, 1), Annotations: map[string]string{names.OwnerAnnotation: "Cluster/waiters/edge/some-uid"},
	}}
	stage.AwaitWithin(t, patience, "the right to make namespaces", func(ctx context.Context) (bool, string, error) {
		_, err := who.Kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "plain"}}, metav1.CreateOptions{})
		return err == nil || apierrors.IsAlreadyExists(err), "", err
	})
	_, err = who.Kube.CoreV1().Namespaces().Create(t.Context(), marked, metav1.CreateOptions{})
	require.True(t, deniedBy("fleet-cluster-namespace", err), "%v", err)
	plain, err := who.Kube.CoreV1().Namespaces().Get(t.Context(), "plain", metav1.GetOptions{})
	require.NoError(t, err)
	plain.Labels["a"] = "b"
	plain, err = who.Kube.CoreV1().Namespaces().Update(t.Context(), plain, metav1.UpdateOptions{})
	require.NoError(t, err)
	plain.Annotations = marked.Annotations
	_, err = who.Kube.CoreV1().Namespaces().Update(t.Context(), plain, metav1.UpdateOptions{})
	require.True(t, deniedBy("fleet-cluster-namespace", err), "%v", err)

	// Nor take it off, or say that it is of another round.
	for _, key := range []string{names.OwnerAnnotation, names.PlaceAnnotation} {
		_, own := w.agentOf(t, edge1)
		kept, err := who.Kube.CoreV1().Namespaces().Get(t.Context(), own.Status.Namespace, metav1.GetOptions{})
		require.NoError(t, err)
		require.NotEmpty(t, kept.Annotations[names.OwnerAnnotation])
		kept.Annotations[key] = map[string]string{names.PlaceAnnotation: "7"}[key]
		_, err = who.Kube.CoreV1().Namespaces().Update(t.Context(), kept, metav1.UpdateOptions{DryRun: inVain})
		require.True(t, deniedBy("fleet-cluster-namespace", err), "%s: %v", key, err)
	}

	require.NoError(t, w.Hub.Kube.CoreV1().Namespaces().Delete(t.Context(), place, metav1.DeleteOptions{}))
	_, err = w.AwaitCluster(stage.Until(t, patience), workspace, name, "in a namespace of the hub's", func(c *fleet.Cluster) bool {
		return c.Status.Namespace == place && !blocked(c)
	})
	require.NoError(t, err)
}
