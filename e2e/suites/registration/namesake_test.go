package registration_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

const (
	namesakes = "namesakes"
	namesake  = "namesake"
	// ofTheFirst is a Secret of the first cluster of a name, in its namespace on the hub.
	ofTheFirst = "of-the-first"
)

// Attacks 9 and 20: a cluster of a name that another one had before is in a namespace of the same name. Who has the
// credential of the first, or its request, reads nothing of the second; and who has that of the second finds no Secret of
// the first. It is so too where somebody has torn the first one out, with what was in its namespace left behind.
func TestAnEarlierAgentIsNobodyToTheNextClusterOfItsName(t *testing.T) {
	y := ofTheYard(t)
	y.workspace(t, namesakes)
	values, err := y.NewToken(until(t, patience), namesakes, "token", fleet.ClusterRegistrationTokenSpec{
		TTL: &metav1.Duration{Duration: time.Hour}, ClusterName: namesake,
	})
	require.NoError(t, err)
	jwt := values["token"].(string)
	for way, remove := range map[string]func(*testing.T, string){"deleted": y.deleteNamesake, "torn out": y.tearOutNamesake} {
		t.Run(way, func(t *testing.T) {
			asked := y.applicantIn(t, namesakes, "token", jwt, "client-of-"+way[:4])
			first := y.firstNamesake(t, asked)
			remove(t, first.namespace.Name)

			next := y.applicantIn(t, namesakes, "token", jwt, asked.request.Spec.ClientID)
			withKey(t, next)
			next.ask(t)
			if way == "torn out" {
				next.refused(t, "WaitingForNamespace")
				first.isNobody(t)
				// A person has looked what is in it.
				require.NoError(t, y.Hub.Kube.CoreV1().Namespaces().Delete(t.Context(), first.namespace.Name, metav1.DeleteOptions{}))
			}
			_, err := next.AwaitGrant(until(t, patience))
			require.NoError(t, err)
			cluster, place := y.namesake(t)
			require.NotEqual(t, first.cluster, cluster.UID)
			require.Equal(t, first.namespace.Name, place.Name, "else there is nothing to see here")
			require.NotEqual(t, first.namespace.UID, place.UID)
			_, err = y.Hub.Kube.CoreV1().Secrets(place.Name).Get(t.Context(), ofTheFirst, metav1.GetOptions{})
			require.True(t, apierrors.IsNotFound(err), "%v", err)
			first.isNobody(t)

			// The request of the first once more, by who has the registration token as well.
			again := y.applicantIn(t, namesakes, "token", jwt, asked.request.Spec.ClientID)
			again.request = &fleet.ClusterRegistration{ObjectMeta: metav1.ObjectMeta{
				Namespace: namesakes, Name: asked.request.Name, Labels: asked.request.Labels,
			}, Spec: asked.request.Spec}
			again.Request = again.request
			again.ask(t)
			again.refused(t, "IdentityConflict")
			first.isNobody(t)
			y.deleteNamesake(t, place.Name)
		})
	}
}

// earlier is the first cluster of a name.
type earlier struct {
	cluster   types.UID
	namespace *corev1.Namespace
	// hub is the hub as its agent sees it.
	hub *stage.Cluster
}

// firstNamesake joins and uses its credential.
func (y *yard) firstNamesake(t *testing.T, asked *applicant) *earlier {
	t.Helper()
	asked.ask(t)
	secret, err := asked.AwaitCredential(until(t, patience))
	require.NoError(t, err)
	cluster, namespace := y.namesake(t)
	hub, err := y.Hub.AsToken("earlier", string(secret.Data["token"]))
	require.NoError(t, err)
	_, err = y.Hub.Kube.CoreV1().Secrets(namespace.Name).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: ofTheFirst}, StringData: map[string]string{"value": "of-the-first-alone"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	e := &earlier{cluster: cluster.UID, namespace: namespace, hub: hub}
	await(t, "the first one to read what is its own", func(ctx context.Context) (bool, string, error) {
		err := e.lists(ctx)
		return err == nil, fmt.Sprint(err), nil
	})
	return e
}

func (e *earlier) lists(ctx context.Context) error {
	_, err := e.hub.Dynamic.Resource(fleet.SchemeGroupVersion.WithResource("bundledeployments")).Namespace(e.namespace.Name).List(ctx, metav1.ListOptions{})
	return err
}

// isNobody waits until the API server does not know the credential any more, of which it remembers a good answer for ten
// seconds. Meanwhile it may read nothing either: rights end with the binding.
func (e *earlier) isNobody(t *testing.T) {
	t.Helper()
	await(t, "the end of the first one's credential", func(ctx context.Context) (bool, string, error) {
		list := e.lists(ctx)
		require.Error(t, list)
		_, err := e.hub.Kube.CoreV1().Secrets(e.namespace.Name).Get(ctx, ofTheFirst, metav1.GetOptions{})
		require.Error(t, err)
		return apierrors.IsUnauthorized(list) && apierrors.IsUnauthorized(err), fmt.Sprintf("%v, %v", list, err), nil
	})
}

// namesake waits for the Cluster, and its namespace.
func (y *yard) namesake(t *testing.T) (*fleet.Cluster, *corev1.Namespace) {
	t.Helper()
	cluster, err := y.AwaitCluster(until(t, patience), namesakes, namesake, "a namespace", func(c *fleet.Cluster) bool {
		return c.Status.Namespace != "" && c.DeletionTimestamp == nil
	})
	require.NoError(t, err)
	namespace, err := y.Hub.Kube.CoreV1().Namespaces().Get(t.Context(), cluster.Status.Namespace, metav1.GetOptions{})
	require.NoError(t, err)
	return cluster, namespace
}

// deleteNamesake deletes the Cluster as it should be.
func (y *yard) deleteNamesake(t *testing.T, _ string) {
	t.Helper()
	y.delete(t, namesakes, namesake)
	y.awaitNoNamesake(t)
}

// tearOutNamesake deletes it past the hub, by taking its finalizer away while no hub runs; its namespace stays.
func (y *yard) tearOutNamesake(t *testing.T, namespace string) {
	t.Helper()
	_, err := y.controller.Stop(grace)
	require.NoError(t, err)
	y.delete(t, namesakes, namesake)
	_, err = y.Hub.Dynamic.Resource(stage.Clusters).Namespace(namesakes).Patch(t.Context(), namesake, types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	y.awaitNoNamesake(t)
	y.controller, err = y.StartController(until(t, patience))
	require.NoError(t, err)
	_, err = y.Hub.Kube.CoreV1().Secrets(namespace).Get(t.Context(), ofTheFirst, metav1.GetOptions{})
	require.NoError(t, err, "what was left behind")
}

func (y *yard) awaitNoNamesake(t *testing.T) {
	t.Helper()
	await(t, "the end of the Cluster", func(ctx context.Context) (bool, string, error) {
		c, err := stage.Get[fleet.Cluster](ctx, y.Hub, stage.Clusters, namesakes, namesake)
		return c == nil, "", err
	})
}
