package heartbeat

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
)

// beating is the evidence of an agent that uses the credential of a request, seen at some time.
func beating(at time.Time, r *fleet.ClusterRegistration, token string) evidence {
	return evidence{
		cluster: newCluster(), now: at, grace: grace, pulse: pulse{holder: holder(token), renewed: wire(1), seen: at, since: began},
		requests: []*fleet.ClusterRegistration{r}, accounts: map[string]string{r.Name: accountOf},
	}
}

func TestFirstUseIsSaidOnce(t *testing.T) {
	r := granted("request-1", began, record("a", began))
	v := judge(beating(began, r, "a"))
	assert.True(t, v.firstUse)
	assert.Equal(t, began.Add(60*24*time.Hour), v.renewal, "a third of its life before its end")
	assert.Empty(t, v.problem)

	e := beating(began, r, "a")
	e.now = began.Add(time.Hour)
	assert.False(t, judge(e).firstUse, "it is silent")
	e.pulse.seen = time.Time{}
	e.now = began
	assert.False(t, judge(e).firstUse, "a heartbeat of before the start is no use")

	r.Status.Credentials[0].Used = true
	assert.True(t, judge(beating(began, r, "a")).firstUse, "the condition was not written")
	r.Status.Conditions = withTrue(fleet.RegistrationConditionCredentialUsed)
	assert.False(t, judge(beating(began, r, "a")).firstUse)
	r.Status.Credentials = append(r.Status.Credentials, record("b", began))
	assert.True(t, judge(beating(began, r, "b")).firstUse, "a renewed one")
}

func TestACredentialThatCannotBeGoodIsNoticed(t *testing.T) {
	r := granted("request-1", began, record("a", began))
	end := began.Add(90 * 24 * time.Hour)

	assert.Empty(t, judge(beating(end, r, "a")).problem)
	v := judge(beating(end.Add(time.Second), r, "a"))
	assert.Equal(t, reasonExpired, v.problemReason)
	assert.Contains(t, v.problem, "2026-05-30T12:00:00Z")

	// R01: its account was deleted and made anew.
	e := beating(began, r, "a")
	e.accounts[r.Name] = "uid-of-another"
	assert.Equal(t, reasonAccountReplaced, judge(e).problemReason)
	delete(e.accounts, r.Name)
	assert.Empty(t, judge(e).problem, "an account that the cache does not show may live; the grant makes it anew at any rate")
}

func TestAnAgentThatNamesNoCredentialGetsNoOther(t *testing.T) {
	r := granted("request-1", began, record("a", began))
	r.Spec.Identity = nil
	e := beating(began.Add(time.Minute), r, "a")
	e.pulse.holder, e.legacy = "", true

	v := judge(e)

	assert.NotNil(t, v.use.record)
	assert.True(t, v.firstUse)
	assert.Zero(t, v.renewal)
}

func statusOf(t *testing.T, status fleet.ClusterStatus, kind string) (corev1.ConditionStatus, string, string) {
	t.Helper()
	c := conditions.GetCondition(status.Conditions, kind)
	if c == nil {
		return "", "", ""
	}
	return c.Status, c.Reason, c.Message
}

func TestReportOfAConnectedAgent(t *testing.T) {
	r := granted("request-1", began, record("a", began))
	e := beating(began, r, "a")
	e.cluster.Annotations = map[string]string{names.IdentityAnnotation: `{"fingerprint":"f","clusterUID":"u"}`}
	var status fleet.ClusterStatus

	report(&status, e, judge(e))

	for _, kind := range []string{fleet.ClusterConditionAgentConnected, fleet.ClusterConditionRegistered, fleet.ClusterConditionCredentialValid} {
		assert.True(t, conditions.IsTrue(status.Conditions, kind), kind)
	}
	assert.Equal(t, &fleet.ClusterIdentity{KeyFingerprint: "f", ClusterUID: "u", BoundTime: &metav1.Time{Time: began}}, status.Identity)
	assert.Equal(t, "TokenRequest", status.Credential.Type)
	assert.True(t, status.Credential.Expires.Time.Equal(began.Add(90*24*time.Hour)))

	before := status.DeepCopy()
	e.now = began.Add(time.Hour)
	e.pulse.seen = e.now
	report(&status, e, judge(e))
	assert.Equal(t, before, &status, "an hour later nothing changed")
}

func TestReportKeepsWhatOthersWroteOfTheCredential(t *testing.T) {
	end := &metav1.Time{Time: began.Add(time.Hour)}
	status := fleet.ClusterStatus{Credential: &fleet.CredentialStatus{KubeconfigExpires: end, HubCAExpires: end}}
	e := beating(began, granted("request-1", began, record("a", began)), "a")
	report(&status, e, judge(e))
	assert.Equal(t, end, status.Credential.KubeconfigExpires)
	assert.Equal(t, end, status.Credential.HubCAExpires)
}

func TestReportOfSilence(t *testing.T) {
	r := granted("request-1", began, record("a", began))
	e := beating(began, r, "a")
	var status fleet.ClusterStatus
	report(&status, e, judge(e))

	e.now = began.Add(time.Hour)
	report(&status, e, judge(e))
	value, reason, message := statusOf(t, status, fleet.ClusterConditionAgentConnected)
	assert.Equal(t, corev1.ConditionFalse, value)
	assert.Equal(t, "Silent", reason)
	assert.Equal(t, "no heartbeat since 2026-03-01T12:00:00Z", message)
	assert.True(t, conditions.IsTrue(status.Conditions, fleet.ClusterConditionRegistered), "registered it stays")

	// A hub that started since knows less, and keeps what was said.
	e.pulse = pulse{holder: holder("a"), since: began.Add(2 * time.Hour)}
	e.now = began.Add(3 * time.Hour)
	report(&status, e, judge(e))
	_, _, message = statusOf(t, status, fleet.ClusterConditionAgentConnected)
	assert.Equal(t, "no heartbeat since 2026-03-01T12:00:00Z", message)

	status = fleet.ClusterStatus{}
	report(&status, e, judge(e))
	_, _, message = statusOf(t, status, fleet.ClusterConditionAgentConnected)
	assert.Equal(t, "no heartbeat since the hub started at 2026-03-01T14:00:00Z", message)
}

func TestReportOfWhatIsNotKnownYetChangesNothingOfTheConnection(t *testing.T) {
	e := beating(began, granted("request-1", began, record("a", began)), "a")
	e.pulse.seen = time.Time{}
	status := fleet.ClusterStatus{Conditions: withTrue(fleet.ClusterConditionAgentConnected)}
	report(&status, e, judge(e))
	_, reason, _ := statusOf(t, status, fleet.ClusterConditionAgentConnected)
	assert.Equal(t, "Test", reason)
	assert.Nil(t, conditions.GetCondition(status.Conditions, fleet.ClusterConditionRegistered))
}

func TestReportOfAnUnknownCredentialLeavesWhatIsKnown(t *testing.T) {
	e := beating(began, granted("request-1", began, record("a", began)), "nobody's")
	var status fleet.ClusterStatus
	report(&status, e, judge(e))
	assert.True(t, conditions.IsTrue(status.Conditions, fleet.ClusterConditionAgentConnected))
	assert.Nil(t, conditions.GetCondition(status.Conditions, fleet.ClusterConditionRegistered))
	assert.Nil(t, status.Credential)
}

func TestReportOfTheGrantOfAnEarlierHub(t *testing.T) {
	r := granted("request-1", began)
	r.Status.Conditions = nil
	e := beating(began, r, "unknown")
	var status fleet.ClusterStatus
	report(&status, e, judge(e))
	assert.True(t, conditions.IsTrue(status.Conditions, fleet.ClusterConditionRegistered), "its agent can be kept current")
	assert.Nil(t, conditions.GetCondition(status.Conditions, fleet.ClusterConditionCredentialValid))
}

func TestAPinThatCannotBeReadChangesNoStatus(t *testing.T) {
	have := &fleet.ClusterIdentity{KeyFingerprint: "f"}
	e := beating(began, granted("request-1", began), "a")
	e.cluster.Annotations = map[string]string{names.IdentityAnnotation: "{"}
	assert.Equal(t, have, identityStatus(have, e))
	e.cluster.Annotations = nil
	assert.Equal(t, have, identityStatus(have, e))
	e.cluster.Annotations = map[string]string{names.IdentityAnnotation: `{"fingerprint":"g"}`}
	assert.Equal(t, "g", identityStatus(have, e).KeyFingerprint)
	assert.True(t, identityStatus(have, e).BoundTime.Time.Equal(began))
}
