package registration_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// applicant asks for a registration by hand.
type applicant struct {
	*stage.Applicant
	hub       *stage.Cluster
	workspace string
	request   *fleet.ClusterRegistration
}

// newToken makes a registration token for a test and removes it at its end.
func (w *world) newToken(t *testing.T, name string, spec fleet.ClusterRegistrationTokenSpec) (jwt string) {
	t.Helper()
	spec.TTL = &metav1.Duration{Duration: time.Hour}
	values, err := w.NewToken(until(t, patience), stage.Workspace, name, spec)
	require.NoError(t, err)
	t.Cleanup(func() { w.remove(t, stage.Tokens.Resource, stage.Workspace, name) })
	return values["token"].(string)
}

// remove deletes an object of the group, also when the test's own context has ended.
func (b *bed) remove(t *testing.T, resource, namespace, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	gvr := fleet.SchemeGroupVersion.WithResource(resource)
	require.NoError(t, b.Hub.Dynamic.Resource(gvr).Namespace(namespace).Delete(ctx, name, metav1.DeleteOptions{}))
}

// applicant plays an agent of the common workspace that has a registration token.
func (w *world) applicant(t *testing.T, tokenName, jwt, clientID string) *applicant {
	t.Helper()
	return w.applicantIn(t, stage.Workspace, tokenName, jwt, clientID)
}

// applicantIn plays one of any workspace.
func (b *bed) applicantIn(t *testing.T, workspace, tokenName, jwt, clientID string) *applicant {
	t.Helper()
	a, err := b.NewApplicant(workspace, tokenName, jwt, clientID)
	require.NoError(t, err)
	return &applicant{Applicant: a, hub: a.Hub, workspace: a.Workspace, request: a.Request}
}

// ask sends the request.
func (a *applicant) ask(t *testing.T) {
	t.Helper()
	require.NoError(t, a.Ask(until(t, patience)))
}

// refused waits for a refusal with a reason.
func (a *applicant) refused(t *testing.T, reason string) *fleet.ClusterRegistration {
	t.Helper()
	r, err := a.AwaitRefusal(until(t, patience), reason)
	require.NoError(t, err)
	return r
}

// awaitLeave waits until the authorizer knows of the applicant's rights.
func (a *applicant) awaitLeave(t *testing.T) {
	t.Helper()
	require.NoError(t, a.AwaitLeave(until(t, patience)))
}

// credential waits for what the request was granted.
func (a *applicant) credential(t *testing.T) {
	t.Helper()
	_, err := a.AwaitCredential(until(t, patience))
	require.NoError(t, err)
}

// cluster is what the applicant's request was granted for.
func (a *applicant) cluster(t *testing.T) *fleet.Cluster {
	t.Helper()
	r, err := a.AwaitGrant(until(t, patience))
	require.NoError(t, err)
	cluster, err := stage.Get[fleet.Cluster](t.Context(), theWorld.Hub, stage.Clusters, a.workspace, r.Status.ClusterName)
	require.NoError(t, err)
	require.NotNil(t, cluster)
	return cluster
}
