package explain

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

var update = flag.Bool("update", false, "write the golden files")

// stories are clusters on their way, in the order in which it goes.
func stories(t *testing.T) map[string]Facts {
	forbidden := func(f *Facts) {
		f.Requests.Unknown, f.Token.Unknown, f.Lease.Unknown = "may not list clusterregistrations", "may not get clusterregistrationtokens", "may not get leases"
		f.Requests.Value, f.Lease.Value = nil, nil
		f.Hub.Unknown, f.Warnings.Unknown = "may not get configmaps", "may not list events"
	}
	return map[string]Facts{
		"manager-new":                managed(),
		"manager-namespace-blocked":  managed(status(no(fleet.ClusterConditionProcessed, "NamespaceBlocked", "namespace x belongs to another cluster: delete it", time.Second))),
		"manager-no-kubeconfig":      managed(placed, status(no(fleet.ClusterConditionImported, "KubeconfigMissing", "secret fleet-default/edge-1-kubeconfig does not exist", 2*time.Second))),
		"manager-token-stuck":        managed(placed, tokenNamed("import-token-edge-1", stuckToken)),
		"manager-imported":           managed(placed, tokenNamed("import-token-edge-1"), imported, hubKnown(t)),
		"manager-credential-waits":   managed(placed, tokenNamed("import-token-edge-1"), imported, asked("used", 5*time.Second, granted)),
		"manager-connected":          managed(connected, hubKnown(t)),
		"manager-connected-limited":  managed(connected, forbidden),
		"manager-silent":             managed(connected, becomes(no(fleet.ClusterConditionAgentConnected, "Silent", "no heartbeat since 2026-03-01T18:00:00Z", 6*time.Hour))),
		"manager-kubeconfig-ends":    managed(connected, kubeconfigEnds(5*24*time.Hour)),
		"manager-deleting":           managed(connected, deleting),
		"manager-revoked":            managed(connected, revoke),
		"agent-connected-conflict":   byAgent(connected, asked("new", 2*time.Hour, anotherKey, refused(ReasonIdentityConflict))),
		"agent-credential-ended":     byAgent(connected, becomes(no(fleet.ClusterConditionCredentialValid, "Expired", "the agent's credential ended", 6*time.Hour))),
		"agent-never-asked":          byAgent(placed),
		"agent-token-ended":          byAgent(placed, asked("lost", time.Minute, refused("TokenUnknown"))),
		"agent-import-account-gone":  byAgent(placed, asked("late", time.Minute, granted, lost)),
		"wouldbe-waits-for-approval": nobody(tokenNamed("edge"), asked("new", time.Minute, refused(ReasonWaitingForApproval))),
		"wouldbe-token-only":         nobody(tokenNamed("edge")),
		"local-connected":            managed(local, connected),
	}
}

func stuckToken(token *fleet.ClusterRegistrationToken) {
	token.Status.SecretName = ""
	token.Status.Conditions[0] = no(fleet.TokenConditionReady, registration.TokenSecretConflict, "Secret fleet-default/import-token-edge-1 exists: delete it", 3*time.Second)
}

func kubeconfigEnds(in time.Duration) func(*Facts) {
	return func(f *Facts) {
		f.Cluster.Status.Credential.KubeconfigExpires = &metav1.Time{Time: now.Add(in)}
		f.Cluster.Status.Credential.KubeconfigCAExpires = &metav1.Time{Time: now.Add(1000 * 24 * time.Hour)}
		f.Cluster.Status.Credential.HubCAExpires = &metav1.Time{Time: now.Add(2000 * 24 * time.Hour)}
	}
}

func deleting(f *Facts) { f.Cluster.DeletionTimestamp = when(20 * time.Hour) }

func revoke(f *Facts) {
	f.Cluster.Spec.Revoked = true
	becomes(no(fleet.ClusterConditionImported, ReasonRevoked, "the cluster is revoked (spec.revoked)", 20*time.Hour),
		no(fleet.ClusterConditionCredentialValid, ReasonRevoked, "the cluster is revoked (spec.revoked)", 20*time.Hour))(f)
}

func lost(r *fleet.ClusterRegistration) {
	r.Status.Conditions[1] = no(fleet.RegistrationConditionCredentialReady, "ImportAccountGone", "the import account ended before the agent took the credential", time.Hour)
}

func local(f *Facts) {
	f.Workspace, f.Name = "fleet-local", names.LocalCluster
	f.Cluster.Namespace, f.Cluster.Name = f.Workspace, f.Name
	f.Cluster.Spec.KubeConfigSecret = names.LocalKubeconfigSecret
}

// What each story looks like is in testdata, for people to read.
func TestStoriesOfTheHandshake(t *testing.T) {
	for name, facts := range stories(t) {
		t.Run(name, func(t *testing.T) {
			got, err := yaml.Marshal(Explain(facts))
			require.NoError(t, err)
			file := filepath.Join("testdata", name+".yaml")
			if *update {
				require.NoError(t, os.MkdirAll("testdata", 0o755))
				require.NoError(t, os.WriteFile(file, got, 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, string(want), string(got))
		})
	}
}

func TestEveryStoryHasAllStepsAndANextOne(t *testing.T) {
	for name, facts := range stories(t) {
		e := Explain(facts)
		var steps []string
		for _, s := range e.Steps {
			steps = append(steps, s.Step)
			assert.NotEmpty(t, s.State, "%s: %s", name, s.Step)
			if s.State == Failed || s.State == Waits {
				assert.NotEmpty(t, s.Detail, "%s: %s", name, s.Step)
			}
		}
		assert.Equal(t, []string{StepPlace, StepToken, StepAgent, StepRequest, StepGrant, StepCredential, StepHeartbeat, StepAfter}, steps, name)
		assert.NotEmpty(t, e.Next, name)
		assert.NotContains(t, e.Next, "%!", name)
		assert.NotContains(t, e.Next, "%s", name)
	}
}

// Whatever may not be read costs only what it would have told.
func TestAConnectedClusterIsConnectedForWhoMayReadItAlone(t *testing.T) {
	e := Explain(stories(t)["manager-connected-limited"])
	assert.Equal(t, registration.StateConnected, e.State)
	states := map[string]State{}
	for _, s := range e.Steps {
		states[s.Step] = s.State
	}
	assert.Equal(t, map[string]State{
		StepPlace: Done, StepToken: Unknown, StepAgent: Done, StepRequest: Unknown,
		StepGrant: Unknown, StepCredential: Unknown, StepHeartbeat: Done, StepAfter: Done,
	}, states)
	assert.Len(t, e.Unknown, 5)
	assert.True(t, strings.HasPrefix(e.Next, "Nothing is awaited"), e.Next)
}

// The Secret may lie in another namespace than its Cluster.
func TestTheKubeconfigThatEndsIsFound(t *testing.T) {
	notes := func(f Facts) (out []string) {
		for _, x := range Explain(f).Expiries {
			if x.What == kubeconfig || x.What == kubeconfigCA {
				out = append(out, x.Note)
			}
		}
		return out
	}
	f := managed(connected, kubeconfigEnds(time.Hour))
	assert.Equal(t, []string{"Secret fleet-default/edge-1-kubeconfig", "Secret fleet-default/edge-1-kubeconfig"}, notes(f))
	assert.Equal(t, []string{"Secret fleet-default/edge-1-kubeconfig"}, notes(managed(connected)), "a token without a known end is told of too")
	assert.Empty(t, notes(byAgent(connected)))
	f.Cluster.Spec.KubeConfigSecretNamespace = "cattle-fleet-system"
	assert.Equal(t, []string{"Secret cattle-fleet-system/edge-1-kubeconfig", "Secret cattle-fleet-system/edge-1-kubeconfig"}, notes(f))
}

func TestARequestConcernsItsClusterAlone(t *testing.T) {
	cluster := &fleet.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "edge-1"}, Spec: fleet.ClusterSpec{ClientID: "client-1"}}
	request := func(client, matched, token string) *fleet.ClusterRegistration {
		r := &fleet.ClusterRegistration{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{names.RegistrationTokenLabel: token}}, Spec: fleet.ClusterRegistrationSpec{ClientID: client}}
		r.Status.ClusterName = matched
		return r
	}
	assert.True(t, Concerns(request("client-1", "", ""), cluster, "edge-1", nil))
	assert.True(t, Concerns(request("other", "edge-1", ""), cluster, "edge-1", nil), "it was matched to it before it got another client ID")
	assert.False(t, Concerns(request("client-1", "edge-2", ""), cluster, "edge-1", nil))
	assert.False(t, Concerns(request("other", "", ""), cluster, "edge-1", nil))
	assert.False(t, Concerns(request("", "", ""), &fleet.Cluster{}, "edge-1", nil), "no client ID is nobody's")

	assert.True(t, Concerns(request("x", "", ""), nil, names.RegisteredCluster("x"), nil))
	assert.True(t, Concerns(request("x", "", "edge"), nil, "edge-9", map[string]bool{"edge": true}))
	assert.True(t, Concerns(request("x", "gone", ""), nil, "gone", nil))
	assert.False(t, Concerns(request("x", "", "edge"), nil, "edge-9", nil))

	other := request("x", "edge-1", "edge")
	assert.True(t, Concerns(other, nil, "edge-9", map[string]bool{"edge": true}), "it was refused because its client is another Cluster's")
	other.Status.Granted = true
	assert.False(t, Concerns(other, nil, "edge-9", map[string]bool{"edge": true}))
}

func TestALeaseOfAnotherClusterSaysNothing(t *testing.T) {
	f := managed(connected)
	f.Lease.Value.Annotations[names.ClusterAnnotation] = "edge-2"
	e := Explain(f)
	assert.Empty(t, e.Identity.Instance)
	assert.Contains(t, e.Identity.Note, "another cluster's")
	assert.Contains(t, e.Steps[7].Detail, "last check-in")
}

func TestAnotherKeyThanThePinnedIsShown(t *testing.T) {
	f := managed(connected)
	holder := registration.Holder{Instance: "pod", Fingerprint: fingerprint(otherKey), Digest: "fedcba9876543210"}.String()
	f.Lease.Value.Spec.HolderIdentity = &holder
	e := Explain(f)
	assert.Contains(t, e.Identity.Note, "another key")
	assert.Contains(t, e.Identity.Note, "no request of this cluster has record of")
	assert.Equal(t, "request-used", strings.Fields(e.Steps[3].Detail)[0][:12])
}

func TestAPinThatCannotBeReadIsTheNextThingToMend(t *testing.T) {
	f := byAgent(connected, asked("new", 2*time.Hour, anotherKey, refused(ReasonIdentityConflict)))
	f.Cluster.Annotations[names.IdentityAnnotation] = "{"
	e := Explain(f)
	assert.Contains(t, e.Next, "has to be restored")
	assert.Equal(t, []string{"fleet registration deny request-new -n fleet-default"}, e.Requests[0].Commands)
}
