package registration_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/stage"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// What carried the credential is gone on both sides as soon as the credential is in use.
func TestBootstrapAndCredentialSecretsAreGoneAfterTheJoin(t *testing.T) {
	w := ofTheWorld(t)
	for _, name := range []string{local, edge1, edge2} {
		t.Run(name, func(t *testing.T) {
			plane, workspace, agentNamespace := w.cluster(name)
			_, err := plane.Kube.CoreV1().Secrets(agentNamespace).Get(t.Context(), names.AgentCredentialStore, metav1.GetOptions{})
			require.NoError(t, err, "the agent's stored credential")
			_, err = plane.Kube.CoreV1().Secrets(agentNamespace).Get(t.Context(), names.AgentBootstrapSecret, metav1.GetOptions{})
			require.True(t, apierrors.IsNotFound(err), "Secret %s: %v", names.AgentBootstrapSecret, err)

			requests := w.requests(t, workspace, name)
			require.Len(t, requests, 1)
			r := requests[0]
			_, err = w.Hub.Kube.CoreV1().Secrets(stage.RegistrationNamespace).Get(t.Context(), names.CredentialSecret(r.Spec.ClientID, r.Spec.ClientRandom), metav1.GetOptions{})
			require.True(t, apierrors.IsNotFound(err), "the Secret that carried the credential: %v", err)
			roles, err := w.Hub.Kube.RbacV1().Roles(stage.RegistrationNamespace).List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			for _, role := range roles.Items {
				if role.Annotations[names.ImportAccountAnnotation] != "" {
					assert.Empty(t, role.Rules, "Role %s, by which it could be read", role.Name)
				}
			}
		})
	}
}

// R11 and its kind: a stored credential is used again, whatever ended the process before.
func TestARestartedAgentUsesItsCredentialAgain(t *testing.T) {
	w := ofTheWorld(t)
	w.leaveAsFound(t)
	for _, name := range []string{edge1, edge2} {
		before := w.heldBy(t, name)
		t.Run(name+"/in another pod after SIGTERM", func(t *testing.T) {
			code, err := w.agents[name].Stop(grace)
			require.NoError(t, err)
			require.Zero(t, code, "exit code after SIGTERM")
			w.startAgain(t, name, before.holder.Instance+"-again")
			w.holdsTheSame(t, name, before)
		})
		t.Run(name+"/in the same pod after SIGKILL", func(t *testing.T) {
			require.NoError(t, w.agents[name].Kill())
			w.startAgain(t, name, before.holder.Instance+"-again")
			w.holdsTheSame(t, name, before)
		})
	}
}

// holdsTheSame compares what an agent has on the hub with what it had before.
func (w *world) holdsTheSame(t *testing.T, name string, before held) {
	t.Helper()
	after := w.heldBy(t, name)
	require.Equal(t, before.request, after.request, "the one registration")
	require.Equal(t, before.account, after.account, "its account")
	require.Equal(t, before.holder.Digest, after.holder.Digest, "the digest of the credential")
	require.Equal(t, before.holder.Fingerprint, after.holder.Fingerprint, "the fingerprint of the key")
}

// held is what an agent has on the hub.
type held struct {
	request, account types.UID
	holder           registration.Holder
}

func (w *world) heldBy(t *testing.T, name string) held {
	t.Helper()
	_, workspace, _ := w.cluster(name)
	requests := w.requests(t, workspace, name)
	require.Len(t, requests, 1, "registrations of cluster %s", name)
	r := requests[0]
	account, err := w.Hub.Kube.CoreV1().ServiceAccounts(stage.AgentsNamespace).Get(t.Context(), names.Account(r.Name, string(r.UID)), metav1.GetOptions{})
	require.NoError(t, err)
	return held{request: r.UID, account: account.UID, holder: w.holder(t, name)}
}

// holder is who the heartbeat's Lease of a cluster says that it is.
func (w *world) holder(t *testing.T, name string) registration.Holder {
	t.Helper()
	_, workspace, _ := w.cluster(name)
	cluster := w.connected(t, workspace, name)
	lease, err := w.Hub.Kube.CoordinationV1().Leases(cluster.Status.Namespace).Get(t.Context(), names.HeartbeatLease, metav1.GetOptions{})
	require.NoError(t, err)
	require.NotNil(t, lease.Spec.HolderIdentity)
	holder, ok := registration.ParseHolder(*lease.Spec.HolderIdentity)
	require.True(t, ok, *lease.Spec.HolderIdentity)
	return holder
}

// startAgain runs the agent of a cluster in a pod and waits for its first heartbeat.
func (w *world) startAgain(t *testing.T, name, pod string) {
	t.Helper()
	plane, workspace, agentNamespace := w.cluster(name)
	namespace := w.connected(t, workspace, name).Status.Namespace
	started := time.Now()
	agent, err := w.StartAgent(until(t, patience), plane, agentNamespace, pod)
	require.NoError(t, err)
	w.agents[name] = agent
	await(t, "the first heartbeat of pod "+pod, func(ctx context.Context) (bool, string, error) {
		lease, err := w.Hub.Kube.CoordinationV1().Leases(namespace).Get(ctx, names.HeartbeatLease, metav1.GetOptions{})
		if err != nil || lease.Spec.HolderIdentity == nil || lease.Spec.RenewTime == nil {
			return false, "no holder", err
		}
		seen := *lease.Spec.HolderIdentity + " at " + lease.Spec.RenewTime.String()
		return strings.HasPrefix(*lease.Spec.HolderIdentity, pod+"/") && lease.Spec.RenewTime.After(started), seen, nil
	})
}
