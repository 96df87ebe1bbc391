package rancher_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/rancher/fleet/e2e/rancher"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// deed is what somebody tries in a workspace, and who may; nothing of it is kept.
type deed struct {
	name string
	try  func(ctx context.Context, as dynamic.Interface) error
	may  []rancher.Role
}

var dry = []string{metav1.DryRunAll}

func list(resource schema.GroupVersionResource, namespace string) func(context.Context, dynamic.Interface) error {
	return func(ctx context.Context, as dynamic.Interface) error {
		_, err := as.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 1})
		return err
	}
}

func create(kind, plural, namespace string, spec map[string]any) func(context.Context, dynamic.Interface) error {
	return func(ctx context.Context, as dynamic.Interface) error {
		object := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "by-a-person"}, "spec": spec}}
		object.SetGroupVersionKind(fleet.SchemeGroupVersion.WithKind(kind))
		_, err := as.Resource(fleet.SchemeGroupVersion.WithResource(plural)).Namespace(namespace).Create(ctx, object, metav1.CreateOptions{DryRun: dry})
		return err
	}
}

func (b *bed) patched(patch string, subresources ...string) func(context.Context, dynamic.Interface) error {
	return func(ctx context.Context, as dynamic.Interface) error {
		_, err := as.Resource(stage.Clusters).Namespace(b.downstream.Workspace).
			Patch(ctx, b.downstream.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{DryRun: dry}, subresources...)
		return err
	}
}

// deeds are what Rancher's user interface does for people, and what must not come of a role.
func (b *bed) deeds(c *fleet.Cluster) []deed {
	everybody := []rancher.Role{rancher.Admin, rancher.Member, rancher.ReadOnly}
	writers, admins := everybody[:2], everybody[:1]
	var nobody []rancher.Role
	here, other := b.downstream.Workspace, b.local.Workspace
	core := func(resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Version: "v1", Resource: resource}
	}
	anyCluster := map[string]any{"targets": []any{map[string]any{"clusterSelector": map[string]any{}}}}
	deeds := []deed{
		{"makes a Bundle", create("Bundle", "bundles", here, anyCluster), writers},
		{"makes a GitRepo", create("GitRepo", "gitrepos", here, map[string]any{"repo": "https://git.example.com/r"}), writers},
		{"makes a token", create("ClusterRegistrationToken", "clusterregistrationtokens", here, map[string]any{"ttl": "24h"}), admins},
		{"makes a ClusterGroup", create("ClusterGroup", "clustergroups", here, map[string]any{"selector": map[string]any{}}), admins},
		{"makes a Cluster", create("Cluster", "clusters", here, map[string]any{"clientID": "by-a-person"}), admins},
		{"makes a Bundle elsewhere", create("Bundle", "bundles", other, anyCluster), nobody},
		{"labels a Cluster", b.patched(`{"metadata":{"labels":{"tier":"one"}}}`), admins},
		{"pauses a Cluster", b.patched(`{"spec":{"paused":true}}`), admins},
		{"redeploys an agent", b.patched(fmt.Sprintf(`{"spec":{"redeployAgentGeneration":%d}}`, c.Spec.RedeployAgentGeneration+1)), admins},
		{"takes the pin off a Cluster", b.patched(`{"metadata":{"annotations":{"fleet.cattle.io/identity":null}}}`), nobody},
		{"writes the status of a Cluster", b.patched(`{"status":{"namespace":"kube-system"}}`, "status"), nobody},
		{"lists the deployments of a cluster", list(rancher.Deployments, c.Status.Namespace), nobody},
		{"lists Secrets of the workspace", list(core("secrets"), here), nobody},
		{"lists Secrets of a cluster's namespace", list(core("secrets"), c.Status.Namespace), nobody},
		{"lists request accounts", list(core("serviceaccounts"), stage.AgentsNamespace), nobody},
	}
	for _, plural := range []string{
		"clusters", "bundles", "clustergroups", "clusterregistrationtokens", "clusterregistrations", "gitreporestrictions", "gitrepos",
	} {
		deeds = append(deeds,
			deed{"lists " + plural, list(fleet.SchemeGroupVersion.WithResource(plural), here), everybody},
			deed{"lists " + plural + " elsewhere", list(fleet.SchemeGroupVersion.WithResource(plural), other), nobody})
	}
	return deeds
}

// People have roles in a workspace from Rancher. Each does what his role allows; the policies of the hub stand in nobody's
// way, and give nobody more.
func TestPeopleDoInTheirWorkspaceWhatTheirRoleAllows(t *testing.T) {
	b := theBed(t)
	ctx := stage.Until(t, 2*patience)
	c, err := b.AwaitConnected(ctx, b.downstream.Workspace, b.downstream.Name)
	require.NoError(t, err)
	require.Contains(t, c.Annotations, "fleet.cattle.io/identity", "there is a pin to take off")
	for _, role := range []rancher.Role{rancher.Admin, rancher.Member, rancher.ReadOnly} {
		as, err := b.rancher.Person(ctx, b.downstream.Workspace, role)
		require.NoError(t, err)
		await(t, "the role of "+string(role)+" to count", func(ctx context.Context) (bool, string, error) {
			err := list(stage.Bundles, b.downstream.Workspace)(ctx, as)
			return err == nil, fmt.Sprint(err), nil
		})
		for _, d := range b.deeds(c) {
			err := d.try(ctx, as)
			if slices.Contains(d.may, role) {
				assert.NoError(t, err, "%s %s", role, d.name)
				continue
			}
			assert.Truef(t, apierrors.IsForbidden(err) || apierrors.IsInvalid(err), "%s %s: %v", role, d.name, err)
		}
	}
}

// A member's Bundle is delivered with his role alone, and goes with all that it brought when he deletes it.
func TestABundleOfAMemberIsDelivered(t *testing.T) {
	b := theBed(t)
	ctx := stage.Until(t, 2*patience)
	as, err := b.rancher.Person(ctx, b.downstream.Workspace, rancher.Member)
	require.NoError(t, err)
	bundles := as.Resource(stage.Bundles).Namespace(b.downstream.Workspace)
	const name = "of-a-member"
	object := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"namespace": name,
			"resources": []any{map[string]any{"name": "cm.yaml", "content": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"}},
			"targets":   []any{map[string]any{"clusterName": b.downstream.Name}},
		},
	}}
	object.SetGroupVersionKind(fleet.SchemeGroupVersion.WithKind("Bundle"))
	await(t, "the member to make his Bundle", func(ctx context.Context) (bool, string, error) { // his role takes a moment to count
		_, err := bundles.Create(ctx, object, metav1.CreateOptions{})
		return err == nil || apierrors.IsAlreadyExists(err), fmt.Sprint(err), nil
	})
	b.awaitBundle(t, b.downstream.Workspace, name, isReady)
	_, err = b.edge.Kube.CoreV1().ConfigMaps(name).Get(ctx, name, metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, bundles.Delete(ctx, name, metav1.DeleteOptions{}))
	b.awaitNoBundle(t, b.downstream.Workspace, name)
	await(t, "what the Bundle brought is gone", func(ctx context.Context) (bool, string, error) {
		_, err := b.edge.Kube.CoreV1().ConfigMaps(name).Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprint(err), nil
	})
}

// Rancher makes a workspace of every namespace in which it sees a Cluster or a Bundle: the hub has its own in none but those
// that are workspaces already.
func TestTheHubMakesNoNamespaceLookLikeAWorkspace(t *testing.T) {
	b := theBed(t)
	clusters, err := stage.List[fleet.Cluster](t.Context(), b.Hub, stage.Clusters, metav1.NamespaceAll)
	require.NoError(t, err)
	bundles, err := stage.List[fleet.Bundle](t.Context(), b.Hub, stage.Bundles, metav1.NamespaceAll)
	require.NoError(t, err)
	require.NotEmpty(t, clusters)
	require.NotEmpty(t, bundles)
	hubsOwn := []string{stage.SystemNamespace, stage.RegistrationNamespace, stage.AgentsNamespace, stage.LocalAgentNamespace}
	for _, c := range clusters {
		hubsOwn = append(hubsOwn, c.Status.Namespace)
	}
	for _, c := range clusters {
		assert.NotContains(t, hubsOwn, c.Namespace, "Cluster %s", c.Name)
	}
	for _, bundle := range bundles {
		assert.NotContains(t, hubsOwn, bundle.Namespace, "Bundle %s", bundle.Name)
	}
}
