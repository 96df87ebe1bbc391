package cli

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/explain"
)

func TestRequestsAreListedAndThePendingOnesApart(t *testing.T) {
	h := newTestHub(t, "")
	h.put("ClusterRegistration", aRequest("fleet-default", "request-a", grantedFor("edge-1")))
	h.put("ClusterRegistration", aRequest("fleet-default", "request-b", refusedFor(explain.ReasonIdentityConflict, "edge-1")))
	h.put("ClusterRegistration", aRequest("fleet-default", "request-c", refusedFor(explain.ReasonDenied, "edge-1")))
	h.put("ClusterRegistration", aRequest("team-a", "request-d", refusedFor("TokenUnknown", ""), func(r *fleet.ClusterRegistration) {
		r.Status.Conditions[0].Message = "two\nlines \u202eand more"
	}))

	code, out, errOut := typed("registration", "list")
	require.Zero(t, code)
	assert.Equal(t, [][]string{
		{"WORKSPACE", "NAME", "CLUSTER", "CLIENT ID", "TOKEN", "REASON", "AGE"},
		{"fleet-default", "request-a", "edge-1", "client-1", "edge", "Granted", "5m"},
		{"fleet-default", "request-b", "edge-1", "client-1", "edge", "IdentityConflict", "5m"},
		{"fleet-default", "request-c", "edge-1", "client-1", "edge", "Denied", "5m"},
		{"team-a", "request-d", "-", "client-1", "edge", "TokenUnknown", "5m"},
	}, cells(out))
	assert.Contains(t, errOut, "Waiting for a person's decision: 1.")

	code, out, errOut = typed("registration", "list", "--pending", "-o", "json")
	require.Zero(t, code)
	assert.Empty(t, errOut, "programs read the list alone")
	var list items[explain.Request]
	require.NoError(t, json.Unmarshal([]byte(out), &list))
	require.Len(t, list.Items, 2)
	assert.Equal(t, "request-b", list.Items[0].Name)
	assert.Equal(t, "two; lines ?and more", list.Items[1].Message)
	assert.Equal(t, []string{
		"fleet registration approve --replace request-b -n fleet-default", "fleet registration deny request-b -n fleet-default",
	}, list.Items[0].Commands)

	_, out, _ = typed("registration", "list", "--pending", "-n", "nope")
	assert.Equal(t, "There are no pending registration requests in workspace nope.\n", out)
}

func TestWhoMayNotSeeWhatRequestsAreAboutIsToldSo(t *testing.T) {
	h := newTestHub(t, "")
	h.put("ClusterRegistrationToken", aToken("fleet-default", "edge", usable))
	h.put("ClusterRegistration", aRequest("fleet-default", "request-new", refusedFor(explain.ReasonWaitingForApproval, "")))
	h.identify("jane", forbids("/clusterregistrationtokens"))
	code, out, errOut := typed("registration", "list")
	require.Zero(t, code, errOut)
	assert.Contains(t, out, "request-new")
	assert.NotContains(t, out, "new: ", "its name depends on the token")
	assert.Contains(t, errOut, "What is said of the requests is not complete: listing clusterregistrationtokens: you may not")
	assert.NotContains(t, errOut, "listing clusters:")
}
