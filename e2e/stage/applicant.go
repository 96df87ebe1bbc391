package stage

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// Applicant asks for a registration by hand, one step at a time, as an agent or somebody who plays one.
type Applicant struct {
	// Hub is the hub as the bearer of the registration token sees it.
	Hub       *Cluster
	Workspace string
	Request   *fleet.ClusterRegistration
}

// NewApplicant plays an agent that has a registration token of a workspace. It has asked for nothing yet.
func (s *Stage) NewApplicant(workspace, tokenName, jwt, clientID string) (*Applicant, error) {
	hub, err := s.Hub.AsToken("applicant", jwt)
	if err != nil {
		return nil, err
	}
	name, err := registration.RequestName(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("an applicant: %w", err)
	}
	random, err := registration.Random(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("an applicant: %w", err)
	}
	return &Applicant{Hub: hub, Workspace: workspace, Request: &fleet.ClusterRegistration{
		ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: name, Labels: map[string]string{names.RegistrationTokenLabel: tokenName}},
		Spec:       fleet.ClusterRegistrationSpec{ClientID: clientID, ClientRandom: random},
	}}, nil
}

// CredentialSecret is the name of the Secret that a grant would bring.
func (a *Applicant) CredentialSecret() string {
	return names.CredentialSecret(a.Request.Spec.ClientID, a.Request.Spec.ClientRandom)
}

// AwaitLeave waits until the authorizer, which learns of new rights by a watch, knows those of the token's account.
func (a *Applicant) AwaitLeave(ctx context.Context) error {
	return Await(ctx, "the rights of the import account", func(ctx context.Context) (bool, string, error) {
		_, err := a.Hub.Dynamic.Resource(Registrations).Namespace(a.Workspace).Get(ctx, a.Request.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprint(err), nil
	})
}

// Ask sends the request.
func (a *Applicant) Ask(ctx context.Context) error {
	return Await(ctx, "leave to ask for a registration", func(ctx context.Context) (bool, string, error) {
		err := Create(ctx, a.Hub, Registrations, "ClusterRegistration", a.Workspace, a.Request)
		return err == nil, "", err
	})
}

// AwaitVerdict waits until the hub has said of the request what done wants.
func (a *Applicant) AwaitVerdict(ctx context.Context, what string, done func(*genericcondition.GenericCondition) bool) (*fleet.ClusterRegistration, error) {
	var request *fleet.ClusterRegistration
	err := Await(ctx, "a registration request to be "+what, func(ctx context.Context) (bool, string, error) {
		found, err := Get[fleet.ClusterRegistration](ctx, a.Hub, Registrations, a.Workspace, a.Request.Name)
		if err != nil || found == nil {
			return false, "no such request", err
		}
		request = found
		granted := Condition(found.Status.Conditions, fleet.RegistrationConditionGranted)
		return granted != nil && done(granted), Conditions(found.Status.Conditions), nil
	})
	return request, err
}

// AwaitRefusal waits for a refusal with a reason.
func (a *Applicant) AwaitRefusal(ctx context.Context, reason string) (*fleet.ClusterRegistration, error) {
	return a.AwaitVerdict(ctx, "refused with reason "+reason, func(c *genericcondition.GenericCondition) bool {
		return c.Status == corev1.ConditionFalse && c.Reason == reason
	})
}

// AwaitGrant waits for a grant. The status names the Cluster.
func (a *Applicant) AwaitGrant(ctx context.Context) (*fleet.ClusterRegistration, error) {
	return a.AwaitVerdict(ctx, "granted", func(c *genericcondition.GenericCondition) bool { return c.Status == corev1.ConditionTrue })
}

// AwaitCredential waits for what the request was granted, and takes it.
func (a *Applicant) AwaitCredential(ctx context.Context) (*corev1.Secret, error) {
	var secret *corev1.Secret
	err := Await(ctx, "the credential", func(ctx context.Context) (bool, string, error) {
		found, err := a.Hub.Kube.CoreV1().Secrets(RegistrationNamespace).Get(ctx, a.CredentialSecret(), metav1.GetOptions{})
		secret = found
		return err == nil, "", err
	})
	return secret, err
}

// Beat renews the heartbeat's Lease of a cluster once, with the credential that hub was made with.
func Beat(ctx context.Context, hub *Cluster, namespace, token string) error {
	return Await(ctx, "a heartbeat", func(ctx context.Context) (bool, string, error) {
		lease, err := hub.Kube.CoordinationV1().Leases(namespace).Get(ctx, names.HeartbeatLease, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		_, err = hub.Kube.CoordinationV1().Leases(namespace).Update(ctx, renewed(lease, token), metav1.UpdateOptions{})
		return err == nil, "", err
	})
}

// renewed is a Lease as an agent with that token renews it.
func renewed(lease *coordinationv1.Lease, token string) *coordinationv1.Lease {
	holder := registration.Holder{Instance: "by-hand", Digest: registration.Digest(token)}.String()
	now, seconds := metav1.NowMicro(), int32(60)
	lease.Spec.HolderIdentity, lease.Spec.RenewTime, lease.Spec.LeaseDurationSeconds = &holder, &now, &seconds
	return lease
}
