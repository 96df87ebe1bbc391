package explain

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

func request(change ...func(*fleet.ClusterRegistration)) *fleet.ClusterRegistration {
	f := nobody(asked("r", time.Minute, change...))
	return f.Requests.Value[0]
}

func decided(decision string) func(*fleet.ClusterRegistration) {
	return func(r *fleet.ClusterRegistration) {
		r.Status.Approval = &fleet.RegistrationApproval{Decision: decision, By: "jane", Reason: "who knows", Time: when(time.Hour)}
	}
}

func matched(r *fleet.ClusterRegistration) { r.Status.ClusterName = "edge-1" }

func dying(r *fleet.ClusterRegistration) { r.DeletionTimestamp = when(time.Hour) }

// bound is a Cluster that is bound to the key one.
func bound(annotation ...string) *fleet.Cluster {
	pin := registration.Pin{Fingerprint: fingerprint(oneKey), ClusterUID: clusterUID}.Annotation()
	if len(annotation) > 0 {
		pin = annotation[0]
	}
	return &fleet.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "edge-1", Annotations: map[string]string{names.IdentityAnnotation: pin}}}
}

func TestDecisionsWithoutSenseAreRefused(t *testing.T) {
	conflicting := request(anotherKey, refused(ReasonIdentityConflict))
	for name, test := range map[string]struct {
		request  *fleet.ClusterRegistration
		cluster  *fleet.Cluster
		decision string
		takeBack bool
		says     string
	}{
		"approve what waits for it":           {request(refused(ReasonWaitingForApproval)), nil, Approve, false, ""},
		"deny what waits for it":              {request(refused(ReasonWaitingForApproval)), nil, Deny, false, ""},
		"approve what comes after a denial":   {request(refused(ReasonIdentityDenied)), nil, Approve, false, ""},
		"approve a conflict":                  {conflicting, bound(), Approve, false, "add --replace"},
		"approve a conflict, unknown cluster": {conflicting, nil, Approve, false, "add --replace"},
		"replace in a conflict":               {conflicting, bound(), Replace, false, ""},
		"replace, unknown cluster":            {conflicting, nil, Replace, false, ""},
		"replace what does not conflict":      {request(refused(ReasonWaitingForApproval)), bound(), Replace, false, "leave --replace out"},
		"replace, never matched":              {request(refused(ReasonDenied), decided(Deny)), nil, Replace, false, "leave --replace out"},
		"replace, Cluster not readable":       {request(matched, anotherKey, refused(ReasonDenied), decided(Deny)), nil, Replace, false, ""},
		"take back what is not granted":       {request(refused(ReasonWaitingForApproval)), nil, Deny, true, "leave --take-back out"},
		"replace an unreadable pin":           {conflicting, bound("{"), Replace, false, "annotation fleet.cattle.io/identity cannot be read"},
		"deny in a conflict":                  {conflicting, bound(), Deny, false, ""},
		"deny anything refused":               {request(refused("TokenUnknown")), nil, Deny, false, ""},
		"deny what was not looked at":         {request(), nil, Deny, false, ""},
		"approve what was not looked at":      {request(), nil, Approve, false, "not looked at it yet"},
		"approve what waits for a token":      {request(refused("TokenUnknown")), nil, Approve, false, "something else (TokenUnknown): the agent needs the values of a new token"},
		"approve what a later hub says":       {request(refused("Strange")), nil, Approve, false, "something else (Strange): see the message"},
		"approve what is granted":             {request(granted), bound(), Approve, false, "granted already, for cluster edge-1"},
		"deny what is granted":                {request(granted), bound(), Deny, false, "--take-back"},
		"take back what is granted":           {request(granted), bound(), Deny, true, ""},
		"deny twice":                          {request(refused(ReasonDenied), decided(Deny)), nil, Deny, false, "denied by jane at 2026-03-01T13:00:00Z (who knows) already"},
		"approve twice":                       {request(refused(ReasonWaitingForApproval), decided(Approve)), nil, Approve, false, "approved by jane"},
		"overrule a denial":                   {request(refused(ReasonDenied), decided(Deny)), bound(), Approve, false, ""},
		"overrule a denial in a conflict":     {request(anotherKey, refused(ReasonDenied), decided(Deny)), bound(), Approve, false, "add --replace"},
		"approve what is refused for good":    {request(refused(registration.ReasonClusterGone)), nil, Approve, false, "for good (ClusterGone)"},
		"deny what is refused for good":       {request(refused(registration.ReasonAccountConflict)), nil, Deny, false, "for good"},
		"approve what is being deleted":       {request(dying, refused(ReasonWaitingForApproval)), nil, Approve, false, "being deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			err := CheckDecision(test.request, test.cluster, test.decision, test.takeBack)
			if test.says == "" {
				assert.NoError(t, err)
				return
			}
			require.Error(t, err)
			assert.Contains(t, err.Error(), test.says)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

// A first key that comes from elsewhere than where the hub put the agent conflicts as well.
func TestAFirstKeyFromAnotherClusterConflicts(t *testing.T) {
	cluster := &fleet.Cluster{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		names.ImportAnnotation: registration.Import{ClusterUID: "somewhere-else"}.Annotation(),
	}}}
	conflicts, known := conflict(request(), cluster)
	assert.True(t, conflicts && known)
	conflicts, known = conflict(request(func(r *fleet.ClusterRegistration) { r.Spec.Identity.ClusterUID = "somewhere-else" }), cluster)
	assert.True(t, !conflicts && known)
}

// documented are the reasons of a condition in docs/registration.md that make it False.
func documented(t *testing.T, section, condition string) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/registration.md")
	require.NoError(t, err)
	_, text2, found := strings.Cut(string(text), "\n### "+section+"\n")
	require.True(t, found, section)
	text2, _, _ = strings.Cut(text2, "\n### ")
	row := regexp.MustCompile("^\\| (`(\\w+)`)? ?\\| (True|False) `(\\w+)` \\|")
	var reasons []string
	current := ""
	for _, line := range strings.Split(text2, "\n") {
		if first := regexp.MustCompile("^\\| `(\\w+)` \\|").FindStringSubmatch(line); first != nil {
			current = first[1]
		}
		if match := row.FindStringSubmatch(line); match != nil && current == condition && match[3] == "False" {
			reasons = append(reasons, match[4])
		}
	}
	require.NotEmpty(t, reasons)
	return reasons
}

func TestEveryDocumentedReasonHasItsRemedy(t *testing.T) {
	for _, reason := range documented(t, "ClusterRegistration", "Granted") {
		assert.NotEmpty(t, grantRemedies[reason], reason)
	}
	for _, reason := range documented(t, "Cluster", "Imported") {
		assert.NotEmpty(t, importRemedies[reason], reason)
	}
}

func TestTheFirstErrorIsTheNewest(t *testing.T) {
	f := byAgent(placed, asked("a", time.Minute, refused("TokenUnknown")), becomes(no(fleet.ClusterConditionReconciled, "InvalidAgentOptions", "spec.x", 5*time.Hour)))
	assert.Equal(t, "InvalidAgentOptions", Explain(f).HubError.Reason)
	assert.Nil(t, Explain(byAgent(placed)).HubError, "to wait is no error")
}

func TestTheAgentsOwnErrorIsShown(t *testing.T) {
	f := byAgent(connected)
	f.Cluster.Status.Agent.Upgrade = &fleet.AgentUpgradeStatus{Reason: "ImagePullBackOff", Message: "no such image", Since: when(time.Hour)}
	assert.Equal(t, &Trouble{From: "status.agent.upgrade", Time: when(time.Hour), Reason: "ImagePullBackOff", Message: "no such image"}, Explain(f).AgentError)
}

func TestWarningsAreTheNewest(t *testing.T) {
	f := byAgent(connected)
	for i := range 9 {
		f.Warnings.Value = append(f.Warnings.Value, Warning{Time: at(time.Duration(i) * time.Hour), Reason: string(rune('a' + i))})
	}
	got := Explain(f).Warnings
	require.Len(t, got, maxWarnings)
	assert.Equal(t, "i", got[0].Reason)
}
