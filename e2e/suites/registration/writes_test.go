package registration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// agentOf is the hub as the agent of a cluster sees it, whose credential is another of the same account.
func (w *world) agentOf(t *testing.T, name string) (agent *stage.Cluster, cluster *fleet.Cluster) {
	t.Helper()
	_, workspace, _ := w.cluster(name)
	requests := w.requests(t, workspace, name)
	require.Len(t, requests, 1)
	agent, err := w.Hub.AsAccount(t.Context(), stage.AgentsNamespace, names.Account(requests[0].Name, string(requests[0].UID)))
	require.NoError(t, err)
	return agent, w.connected(t, workspace, name)
}

// Attacks 14 and 15: what RBAC lets an agent write of its Cluster and its Lease is more than it should.
func TestAnAgentWritesItsReportAndItsHeartbeatAlone(t *testing.T) {
	w := ofTheWorld(t)
	agent, cluster := w.agentOf(t, edge1)
	status := func(kind types.PatchType, patch string) error {
		_, err := agent.Dynamic.Resource(stage.Clusters).Namespace(cluster.Namespace).
			Patch(t.Context(), cluster.Name, kind, []byte(patch), metav1.PatchOptions{DryRun: inVain}, "status")
		return err
	}
	const report = `{"lastSeen":"2026-03-01T00:00:00Z","namespace":"cattle-fleet-system","version":"v1","upgrade":{"reason":"Pending","message":"m"}}`
	for what, patch := range map[string]string{
		"conditions":           `{"status":{"conditions":[{"type":"Registered","status":"True"}]}}`,
		"the namespace":        `{"status":{"namespace":"kube-system"}}`,
		"the display":          `{"status":{"display":{"state":"Ready"}}}`,
		"counts":               `{"status":{"summary":{"ready":7}}}`,
		"all but its report":   `{"status":null}`,
		"the identity as well": `{"status":{"agent":` + report + `,"identity":{"keyFingerprint":"x"}}}`,
	} {
		err := status(types.MergePatchType, patch)
		require.True(t, deniedBy("fleet-agent-status", err), "%s: %v", what, err)
	}
	require.NoError(t, status(types.JSONPatchType, `[{"op":"add","path":"/status/agent","value":`+report+`}]`))
	require.NoError(t, status(types.MergePatchType, `{"status":{"agent":`+report+`}}`))

	var renewed *coordinationv1.Lease
	renew := func(change func(*coordinationv1.Lease)) error {
		leases := agent.Kube.CoordinationV1().Leases(cluster.Status.Namespace)
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error { // with the agent itself
			lease, err := leases.Get(t.Context(), names.HeartbeatLease, metav1.GetOptions{})
			if err != nil {
				return err
			}
			change(lease)
			renewed, err = leases.Update(t.Context(), lease, metav1.UpdateOptions{DryRun: inVain})
			return err
		})
	}
	// An API server without coordinated leader election drops these two by itself.
	long, strategy := strings.Repeat("h", 1<<10), coordinationv1.CoordinatedLeaseStrategy("example.com/long")
	err := renew(func(l *coordinationv1.Lease) { l.Spec.PreferredHolder, l.Spec.Strategy = &long, &strategy })
	require.True(t, deniedBy("fleet-agent-lease", err) || err == nil && renewed.Spec.PreferredHolder == nil && renewed.Spec.Strategy == nil, "%v", err)
	for what, change := range map[string]func(*coordinationv1.Lease){
		"the label by which it is seen": func(l *coordinationv1.Lease) { delete(l.Labels, names.ManagedLabel) },
		"a label":                       func(l *coordinationv1.Lease) { l.Labels["a"] = "b" },
		"an annotation":                 func(l *coordinationv1.Lease) { l.Annotations = map[string]string{"a": "b"} },
		"a finalizer":                   func(l *coordinationv1.Lease) { l.Finalizers = []string{"example.com/forever"} },
		"an owner": func(l *coordinationv1.Lease) {
			l.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: "s", UID: "u"}}
		},
		"a long holder": func(l *coordinationv1.Lease) { long := strings.Repeat("h", 254); l.Spec.HolderIdentity = &long },
		"transitions":   func(l *coordinationv1.Lease) { l.Spec.LeaseTransitions = new(int32); *l.Spec.LeaseTransitions = 7 },
		"an acquisition that is far away": func(l *coordinationv1.Lease) {
			l.Spec.AcquireTime = &metav1.MicroTime{Time: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
		},
		"a time that is far away": func(l *coordinationv1.Lease) {
			l.Spec.RenewTime = &metav1.MicroTime{Time: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
		},
	} {
		err := renew(change)
		require.True(t, deniedBy("fleet-agent-lease", err), "%s: %v", what, err)
	}
	require.NoError(t, renew(func(l *coordinationv1.Lease) {
		now, holder := metav1.NowMicro(), registration.Holder{Instance: strings.Repeat("x", 300), Digest: registration.Digest("t")}.String()
		l.Spec.RenewTime, l.Spec.HolderIdentity = &now, &holder
	}))
}

// Attack 17: whoever may write Secrets everywhere could have himself a token of any account made.
func TestTheHubMakesNoTokensOfOthersAccounts(t *testing.T) {
	w := ofTheWorld(t)
	hub, err := w.Hub.AsAccount(t.Context(), stage.SystemNamespace, names.ControllerAccount)
	require.NoError(t, err)
	secret := func(namespace string, kind corev1.SecretType) error {
		_, err := hub.Kube.CoreV1().Secrets(namespace).Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "probe", Annotations: map[string]string{corev1.ServiceAccountNameKey: "default"}}, Type: kind,
		}, metav1.CreateOptions{DryRun: inVain})
		return err
	}
	for _, namespace := range []string{"default", "kube-system", stage.SystemNamespace, stage.Workspace} {
		err := secret(namespace, corev1.SecretTypeServiceAccountToken)
		require.True(t, deniedBy("fleet-controller-tokens", err), "%s: %v", namespace, err)
		require.ErrorContains(t, err, namespace)
	}
	for _, namespace := range []string{stage.RegistrationNamespace, stage.AgentsNamespace} {
		require.NoError(t, secret(namespace, corev1.SecretTypeServiceAccountToken), namespace)
	}
	require.NoError(t, secret(stage.Workspace, corev1.SecretTypeOpaque))
	// Nor by another's, which is there.
	others, err := hub.Kube.CoreV1().Secrets(stage.SystemNamespace).Get(t.Context(), names.BootstrapTokenSecret, metav1.GetOptions{})
	require.NoError(t, err)
	others.Annotations["a"] = "b"
	_, err = hub.Kube.CoreV1().Secrets(stage.SystemNamespace).Update(t.Context(), others, metav1.UpdateOptions{DryRun: inVain})
	require.True(t, deniedBy("fleet-controller-tokens", err), "%v", err)
}

// A storm of joins must not look like silence: heartbeats, and what asks for registration, have shares of the API server's
// work of their own.
func TestHeartbeatsAndRequestsAreServedApart(t *testing.T) {
	w := ofTheWorld(t)
	agent, cluster := w.agentOf(t, edge1)
	asker := w.applicant(t, edge2, w.tokenOf(t, edge2), "client-asking")
	lease := "/apis/coordination.k8s.io/v1/namespaces/" + cluster.Status.Namespace + "/leases/" + names.HeartbeatLease
	request := "/apis/fleet.cattle.io/v1alpha1/namespaces/" + stage.Workspace + "/clusterregistrations/request-none"
	w.requireFlow(t, agent, lease, "fleet-heartbeats")
	w.requireFlow(t, asker.hub, request, "fleet-registration")
	w.requireFlow(t, asker.hub, "/apis", "fleet-registration")
	w.requireFlow(t, agent, "/apis", "service-accounts")
}

// requireFlow wants what somebody reads to be served under a FlowSchema; the API server names it in its answer.
func (w *world) requireFlow(t *testing.T, who *stage.Cluster, path, want string) {
	t.Helper()
	schema, err := w.Hub.Kube.FlowcontrolV1().FlowSchemas().Get(t.Context(), want, metav1.GetOptions{})
	require.NoError(t, err)
	client, err := rest.HTTPClientFor(who.Config)
	require.NoError(t, err)
	await(t, path+" to be served under FlowSchema "+want, func(ctx context.Context) (bool, string, error) {
		ask, err := http.NewRequestWithContext(ctx, http.MethodGet, who.URL+path, nil)
		if err != nil {
			return false, "", err
		}
		answer, err := client.Do(ask)
		if err != nil {
			return false, "", err
		}
		defer answer.Body.Close()
		got := answer.Header.Get("X-Kubernetes-Pf-Flowschema-Uid")
		return got == string(schema.UID), fmt.Sprintf("%s under %s", answer.Status, got), nil
	})
}

// Attack 2: a flood of requests of one token is bounded, is told so, and keeps nobody else out.
func TestAFloodOfOneTokenIsBoundedAndKeepsNobodyOut(t *testing.T) {
	y := ofTheYard(t)
	const workspace, most = "flooded", 20
	flood := reduced(t, "requests of a flood:", 100, 1000)
	y.workspace(t, workspace)
	y.leaveAsFound(t)
	require.NoError(t, y.Configure(t.Context(), func(c map[string]any) { registrationOf(c)["maxUngranted"] = most }))
	t.Cleanup(func() {
		require.NoError(t, y.Configure(context.WithoutCancel(t.Context()), func(c map[string]any) { delete(registrationOf(c), "maxUngranted") }))
	})
	jwt := y.tokenIn(t, workspace, "flood", fleet.ClusterRegistrationTokenSpec{RequireApproval: true})
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		require.NoError(t, y.Hub.Dynamic.Resource(stage.Registrations).Namespace(workspace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	})
	for i := range flood {
		y.applicantIn(t, workspace, "flood", jwt, fmt.Sprintf("client-%d", i)).ask(t)
	}
	// Whoever has another token joins meanwhile.
	other := y.applicantIn(t, workspace, "other", y.tokenIn(t, workspace, "other", fleet.ClusterRegistrationTokenSpec{}), "client-of-another")
	other.ask(t)
	other.credential(t)
	y.awaitBounded(t, workspace, flood, most)
	granted, err := stage.Get[fleet.ClusterRegistration](t.Context(), y.Hub, stage.Registrations, workspace, other.request.Name)
	require.NoError(t, err)
	y.remove(t, stage.Clusters.Resource, workspace, granted.Status.ClusterName)
}

// registrationOf is the part of a configuration that is about requests.
func registrationOf(config map[string]any) map[string]any {
	part, ok := config["registration"].(map[string]any)
	if !ok {
		part = map[string]any{}
		config["registration"] = part
	}
	return part
}

// tokenIn makes a registration token in any workspace, and removes it at the end of the test.
func (b *bed) tokenIn(t *testing.T, workspace, name string, spec fleet.ClusterRegistrationTokenSpec) (jwt string) {
	t.Helper()
	spec.TTL = &metav1.Duration{Duration: time.Hour}
	values, err := b.NewToken(until(t, patience), workspace, name, spec)
	require.NoError(t, err)
	t.Cleanup(func() { b.remove(t, stage.Tokens.Resource, workspace, name) })
	return values["token"].(string)
}

// awaitBounded waits until every request of a flood is answered, and wants about as many of them kept as may be: the hub
// works on several at once.
func (y *yard) awaitBounded(t *testing.T, workspace string, flood, most int) {
	t.Helper()
	const atOnce = 50
	reasons := map[string]int{}
	await(t, "the answers to a flood", func(ctx context.Context) (bool, string, error) {
		requests, err := stage.List[fleet.ClusterRegistration](ctx, y.Hub, stage.Registrations, workspace)
		clear(reasons)
		for _, r := range requests {
			if c := stage.Condition(r.Status.Conditions, fleet.RegistrationConditionGranted); c != nil {
				reasons[c.Reason]++
			} else {
				reasons["none"]++
			}
		}
		seen, _ := json.Marshal(reasons)
		return reasons["none"] == 0 && reasons["Granted"] > 0, string(seen), err
	})
	require.GreaterOrEqual(t, reasons["WaitingForApproval"], most)
	require.LessOrEqual(t, reasons["WaitingForApproval"], most+atOnce)
	require.Less(t, reasons["WaitingForApproval"], flood)
	require.Positive(t, reasons["TooManyRequests"], "%v", reasons)
}
