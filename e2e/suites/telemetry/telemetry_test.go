package telemetry_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// tokenOf is the registration token whose requests a person has to approve.
const tokenOf = "approved-only"

// events are the Events of the hub in a namespace about objects of a kind, as "type reason name".
func (b *bed) events(ctx context.Context, namespace, kind string) (words []string, all []corev1.Event, err error) {
	list, err := b.Hub.Kube.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, err
	}
	for _, e := range list.Items {
		if e.InvolvedObject.Kind == kind {
			words, all = append(words, e.Type+" "+e.Reason+" "+e.InvolvedObject.Name), append(all, e)
		}
	}
	return words, all, nil
}

func (b *bed) awaitEvent(t *testing.T, namespace, kind, want string) (found corev1.Event) {
	t.Helper()
	await(t, "Event "+want, func(ctx context.Context) (bool, string, error) {
		words, all, err := b.events(ctx, namespace, kind)
		i := slices.Index(words, want)
		if i >= 0 {
			found = all[i]
		}
		return i >= 0, strings.Join(words, ", "), err
	})
	return found
}

// awaitFigure waits until a series, as the text format writes it, is above 0.
func awaitFigure(t *testing.T, address string, series ...string) {
	t.Helper()
	await(t, fmt.Sprintf("figures %v at %s", series, address), func(ctx context.Context) (bool, string, error) {
		have, err := scrape(ctx, address)
		for _, name := range series {
			if value := have[name]; value == "" || value == "0" {
				return false, fmt.Sprintf("%s is %q", name, value), err
			}
		}
		return true, "", err
	})
}

func scrape(ctx context.Context, address string) (map[string]string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	have := map[string]string{}
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), " "); ok && name != "#" {
			have[name] = value
		}
	}
	return have, lines.Err()
}

// ask sends a request that a person has to approve, and waits until the hub says so.
func (b *bed) ask(t *testing.T, clientID string) string {
	t.Helper()
	name, err := registration.RequestName(rand.Reader)
	require.NoError(t, err)
	random, err := registration.Random(rand.Reader)
	require.NoError(t, err)
	require.NoError(t, stage.Create(t.Context(), b.Hub, stage.Registrations, "ClusterRegistration", stage.Workspace, &fleet.ClusterRegistration{
		ObjectMeta: metav1.ObjectMeta{Namespace: stage.Workspace, Name: name, Labels: map[string]string{names.RegistrationTokenLabel: tokenOf}},
		Spec:       fleet.ClusterRegistrationSpec{ClientID: clientID, ClientRandom: random},
	}))
	b.awaitEvent(t, stage.Workspace, "ClusterRegistration", "Warning WaitingForApproval "+name)
	return name
}

// decide is what a person does.
func (b *bed) decide(t *testing.T, request, decision, reason string) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"approval": fleet.RegistrationApproval{
		Decision: decision, By: "jane", Reason: reason, Time: &metav1.Time{Time: time.Now()},
	}}})
	require.NoError(t, err)
	_, err = b.Hub.Dynamic.Resource(stage.Registrations).Namespace(stage.Workspace).Patch(t.Context(), request, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	require.NoError(t, err)
}

func TestAJoinShowsInEventsAndFiguresOfBothSides(t *testing.T) {
	b := newBed(t)
	controller := b.controller(t)
	_, err := b.StartAgent(t.Context(), b.Hub, stage.LocalAgentNamespace, "agent-0")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	local, err := b.AwaitConnected(ctx, stage.LocalWorkspace, "local")
	require.NoError(t, err)
	requests, err := stage.List[fleet.ClusterRegistration](ctx, b.Hub, stage.Registrations, stage.LocalWorkspace)
	require.NoError(t, err)
	require.Len(t, requests, 1)

	b.awaitEvent(t, stage.LocalWorkspace, "ClusterRegistration", "Normal Granted "+requests[0].Name)
	registered := b.awaitEvent(t, stage.LocalWorkspace, "Cluster", "Normal Registered local")
	assert.Equal(t, local.UID, registered.InvolvedObject.UID)
	awaitFigure(t, b.hubMetrics,
		`fleet_registration_handshakes_total{result="granted"}`, `fleet_registration_handshakes_total{result="used"}`,
		"fleet_registration_grant_duration_seconds_count", "fleet_registration_use_duration_seconds_count", "fleet_registration_join_duration_seconds_count",
		`fleet_cluster_imports_total{result="imported"}`, `fleet_cluster_import_attempts_total{result="imported"}`, "fleet_cluster_heartbeats_total",
		`fleet_clusters{joined_by="local",state="Connected"}`, `fleet_registration_tokens{state="Ready"}`,
	)
	awaitFigure(t, b.agentMetrics,
		`fleet_agent_handshakes_total{result="registered"}`, `fleet_agent_heartbeats_total{result="sent"}`,
		"fleet_agent_credential_expiry_timestamp_seconds", "fleet_agent_last_contact_timestamp_seconds",
	)
	t.Run("bundles show", func(t *testing.T) { delivered(t, b) })
	t.Run("a denial names who", func(t *testing.T) { denied(t, b) })
	t.Run("a restart loses and repeats no decision", func(t *testing.T) { restarted(t, b, controller) })
}

// delivered has a bundle that arrives, and one of which nothing can be done.
func delivered(t *testing.T, b *bed) {
	bundle := func(name string) *fleet.Bundle {
		out := &fleet.Bundle{ObjectMeta: metav1.ObjectMeta{Namespace: stage.LocalWorkspace, Name: name}}
		out.Spec.DefaultNamespace = "default"
		out.Spec.Resources = []fleet.BundleResource{{Name: "cm.yaml", Content: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"}}
		out.Spec.Targets = []fleet.BundleTarget{{ClusterName: "local"}}
		return out
	}
	broken := bundle("broken")
	limit := intstr.FromString("many")
	broken.Spec.RolloutStrategy = &fleet.RolloutStrategy{MaxUnavailable: &limit}
	for _, one := range []*fleet.Bundle{bundle("works"), broken} {
		require.NoError(t, stage.Create(t.Context(), b.Hub, stage.Bundles, "Bundle", stage.LocalWorkspace, one))
	}
	b.awaitEvent(t, stage.LocalWorkspace, "Bundle", "Warning InvalidRollout broken")
	awaitFigure(t, b.hubMetrics,
		`fleet_bundles{of="user",state="Ready"}`, `fleet_bundles{of="user",state="Refused"}`, `fleet_bundledeployments{of="user",state="Ready"}`,
		"fleet_bundle_rollout_duration_seconds_count", "fleet_bundledeployment_apply_duration_seconds_count",
		`fleet_bundle_refusals_total{reason="InvalidRollout"}`,
	)
}

func denied(t *testing.T, b *bed) {
	_, err := b.NewToken(t.Context(), stage.Workspace, tokenOf, fleet.ClusterRegistrationTokenSpec{
		TTL: &metav1.Duration{Duration: time.Hour}, RequireApproval: true,
	})
	require.NoError(t, err)
	name := b.ask(t, "stranger")
	awaitFigure(t, b.hubMetrics, `fleet_registration_ungranted_requests{reason="WaitingForApproval"}`)
	b.decide(t, name, "deny", "nobody knows this machine")

	event := b.awaitEvent(t, stage.Workspace, "ClusterRegistration", "Warning Denied "+name)
	assert.Equal(t, "Request "+name+" was denied by jane: nobody knows this machine", event.Message)
	awaitFigure(t, b.hubMetrics, `fleet_registration_handshakes_total{result="denied"}`)
}

// restarted has one decision taken before the end of the hub, and one while it is away.
func restarted(t *testing.T, b *bed, controller *proc.Process) {
	before, during := b.ask(t, "before"), b.ask(t, "during")
	b.decide(t, before, "approve", "")
	b.awaitEvent(t, stage.Workspace, "ClusterRegistration", "Normal Approved "+before)
	_, err := controller.Stop(grace)
	require.NoError(t, err)
	b.decide(t, during, "approve", "")
	b.controller(t)

	b.awaitEvent(t, stage.Workspace, "ClusterRegistration", "Normal Approved "+during)
	b.awaitEvent(t, stage.Workspace, "ClusterRegistration", "Normal Granted "+during)
	cluster := names.RegisteredCluster("during")
	b.awaitEvent(t, stage.Workspace, "Cluster", "Normal Approved "+cluster)
	words, _, err := b.events(t.Context(), stage.Workspace, "ClusterRegistration")
	require.NoError(t, err)
	count := 0
	for _, w := range words {
		if w == "Normal Approved "+before || w == "Normal Approved "+during {
			count++
		}
	}
	assert.Equal(t, 2, count, "%v", words)

	// What stood there when the hub started is no news.
	words, _, err = b.events(t.Context(), stage.LocalWorkspace, "Cluster")
	require.NoError(t, err)
	assert.Equal(t, []string{"Normal Registered local"}, slices.DeleteFunc(words, func(w string) bool { return !strings.Contains(w, "Registered") }))
}
