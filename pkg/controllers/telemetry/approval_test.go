package telemetry

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func decided(a *fleet.RegistrationApproval) *fleet.ClusterRegistration {
	r := request("r")
	r.Status.Approval = a
	return r
}

func unmatched(r *fleet.ClusterRegistration) *fleet.ClusterRegistration {
	r.Status.ClusterName = ""
	return r
}

func TestADecisionIsToldOnRequestAndCluster(t *testing.T) {
	jane := approval("approve", "jane", "it is ours", began)
	both := func(reason, eventType string) []string {
		return []string{eventType + " " + reason + " ClusterRegistration/r", eventType + " " + reason + " Cluster/edge"}
	}
	for name, test := range map[string]struct {
		before, after *fleet.ClusterRegistration
		want          []string
	}{
		"approved":                    {decided(nil), decided(jane), both("Approved", "Normal")},
		"replaced":                    {decided(nil), decided(approval("replace", "jane", "", began)), both("Replaced", "Normal")},
		"denied":                      {decided(nil), decided(approval("deny", "jane", "", began)), both("Denied", "Warning")},
		"no change":                   {decided(jane), decided(approval("approve", "jane", "it is ours", began)), nil},
		"changed":                     {decided(jane), decided(approval("deny", "jane", "it is ours", began)), both("Denied", "Warning")},
		"decided once more":           {decided(jane), decided(approval("approve", "jane", "it is ours", began.Add(time.Second))), both("Approved", "Normal")},
		"another reason":              {decided(jane), decided(approval("approve", "jane", "sure", began)), both("Approved", "Normal")},
		"taken back":                  {decided(jane), decided(nil), nil},
		"no decision":                 {decided(nil), decided(approval("perhaps", "jane", "", began)), nil},
		"the cluster is not known":    {unmatched(decided(nil)), unmatched(decided(jane)), []string{"Normal Approved ClusterRegistration/r"}},
		"the cluster is known later":  {unmatched(decided(jane)), decided(jane), []string{"Normal Approved Cluster/edge"}},
		"the request came so decided": {nil, decided(jane), both("Approved", "Normal")},
	} {
		assert.Equal(t, test.want, lines(requestNews(test.before, test.after)), name)
	}
}

func TestADecisionNamesWhoAndWhyInBounds(t *testing.T) {
	told := approvalNews(decided(nil), decided(approval("deny", "jane\n\x1b[2J", "no\tsuch\u202ecluster", began)))
	require.Len(t, told, 2)
	assert.Equal(t, "Request r was denied by jane ?[2J: no such?cluster", told[0].message)
	assert.Equal(t, told[0].message, told[1].message)

	told = approvalNews(decided(nil), decided(approval("approve", strings.Repeat("j", 1<<20), strings.Repeat("y", 1<<20), began)))
	assert.LessOrEqual(t, len(told[0].message), maxMessage)
	assert.Contains(t, told[0].message, "jjj...: yyy", "both have a share")

	told = approvalNews(decided(nil), decided(&fleet.RegistrationApproval{Decision: "approve"}))
	assert.Equal(t, "Request r was approved by somebody who gave no name", told[0].message)
}

func TestADecisionHasOneNameForEachThatItIsToldOf(t *testing.T) {
	name := func(a *fleet.RegistrationApproval) string { return approvalNews(decided(nil), decided(a))[0].name }
	jane := approval("approve", "jane", "ours", began)
	again := approval("approve", "jane", "ours", began.In(time.FixedZone("", 3600)))
	assert.Equal(t, name(jane), name(again), "after a restart")
	assert.Empty(t, validation.IsDNS1123Subdomain(name(jane)))
	seen := map[string]bool{}
	for _, a := range []*fleet.RegistrationApproval{
		jane, approval("deny", "jane", "ours", began), approval("approve", "joe", "ours", began),
		approval("approve", "jane", "our", began), approval("approve", "jane", "ours", began.Add(time.Second)),
	} {
		for _, e := range approvalNews(decided(nil), decided(a)) {
			seen[e.name] = true
		}
	}
	assert.Len(t, seen, 10, "of request and cluster")
}

func TestOnlyARecentDecisionIsToldAtAStart(t *testing.T) {
	for age, want := range map[time.Duration]int{0: 2, 59 * time.Minute: 2, 61 * time.Minute: 0, -time.Minute: 2, -time.Hour: 0} {
		assert.Len(t, recentApproval(decided(approval("approve", "jane", "", began.Add(-age))), began), want, age)
	}
	assert.Empty(t, recentApproval(decided(&fleet.RegistrationApproval{Decision: "approve"}), began), "nobody knows when that was")
	assert.Empty(t, recentApproval(decided(nil), began))
}
