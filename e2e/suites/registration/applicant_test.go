package registration_test

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// applicant asks for a registration by hand, one step at a time, as an agent or somebody who plays one.
type applicant struct {
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
	hub, err := w.Hub.AsToken("applicant", jwt)
	require.NoError(t, err)
	name, err := registration.RequestName(rand.Reader)
	require.NoError(t, err)
	random, err := registration.Random(rand.Reader)
	require.NoError(t, err)
	return &applicant{hub: hub, workspace: stage.Workspace, request: &fleet.ClusterRegistration{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: stage.Workspace, Name: name, Labels: map[string]string{names.RegistrationTokenLabel: tokenName},
		},
		Spec: fleet.ClusterRegistrationSpec{ClientID: clientID, ClientRandom: random},
	}}
}

// ask sends the request.
func (a *applicant) ask(t *testing.T) {
	t.Helper()
	// The authorizer learns of a new account's rights by a watch.
	await(t, "leave to ask for a registration", func(ctx context.Context) (bool, string, error) {
		err := stage.Create(ctx, a.hub, stage.Registrations, "ClusterRegistration", a.workspace, a.request)
		return err == nil, "", err
	})
}

// verdict waits until the hub has said of the request what done wants.
func (a *applicant) verdict(t *testing.T, what string, done func(*genericcondition.GenericCondition) bool) *fleet.ClusterRegistration {
	t.Helper()
	var r *fleet.ClusterRegistration
	await(t, "a registration request to be "+what, func(ctx context.Context) (ok bool, seen string, err error) {
		r, err = stage.Get[fleet.ClusterRegistration](ctx, a.hub, stage.Registrations, a.workspace, a.request.Name)
		if err != nil || r == nil {
			return false, "no such request", err
		}
		granted := stage.Condition(r.Status.Conditions, fleet.RegistrationConditionGranted)
		return granted != nil && done(granted), stage.Conditions(r.Status.Conditions), nil
	})
	return r
}

// refused waits for a refusal with a reason.
func (a *applicant) refused(t *testing.T, reason string) *fleet.ClusterRegistration {
	t.Helper()
	return a.verdict(t, "refused with reason "+reason, func(c *genericcondition.GenericCondition) bool {
		return c.Status == corev1.ConditionFalse && c.Reason == reason
	})
}

// credential waits for what the request was granted, and takes it.
func (a *applicant) credential(t *testing.T) (secretName string, secret *corev1.Secret) {
	t.Helper()
	secretName = names.CredentialSecret(a.request.Spec.ClientID, a.request.Spec.ClientRandom)
	await(t, "the credential", func(ctx context.Context) (bool, string, error) {
		var err error
		secret, err = a.hub.Kube.CoreV1().Secrets(stage.RegistrationNamespace).Get(ctx, secretName, metav1.GetOptions{})
		return err == nil, "", err
	})
	return secretName, secret
}

// beat renews the heartbeat's Lease once, with a credential.
func beat(t *testing.T, hub *stage.Cluster, namespace, token string) *coordinationv1.Lease {
	t.Helper()
	var lease *coordinationv1.Lease
	await(t, "a heartbeat", func(ctx context.Context) (bool, string, error) {
		leases := hub.Kube.CoordinationV1().Leases(namespace)
		have, err := leases.Get(ctx, names.HeartbeatLease, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		holder := registration.Holder{Instance: "by-hand", Digest: registration.Digest(token)}.String()
		now, seconds := metav1.NowMicro(), int32(60)
		have.Spec.HolderIdentity, have.Spec.RenewTime, have.Spec.LeaseDurationSeconds = &holder, &now, &seconds
		lease, err = leases.Update(ctx, have, metav1.UpdateOptions{})
		return err == nil, "", err
	})
	return lease
}
