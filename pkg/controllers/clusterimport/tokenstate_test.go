package clusterimport

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/registration"
)

// sayOfToken is what the controller of tokens reports of the import token.
func (h *hub) sayOfToken(t *testing.T, status metav1.ConditionStatus, reason, message string) {
	t.Helper()
	token := h.tokens.Live(workspace, tokenName)
	require.NotNil(t, token)
	conditions.SetCondition(&token.Status.Conditions, fleet.TokenConditionReady, status, reason, message, now)
	h.tokens.Add(token)
}

// An import that waits for its token says so where that will not end by itself.
func TestAnImportThatWaitsForItsTokenSaysWhy(t *testing.T) {
	for _, reason := range []string{
		registration.TokenSecretConflict, registration.TokenRequestFailed, registration.TokenAccountConflict,
		registration.TokenWriteFailed, registration.TokenBeingDeleted,
	} {
		t.Run(reason, func(t *testing.T) {
			h, d := importing(t)
			h.work1(t)
			h.sayOfToken(t, metav1.ConditionFalse, reason, "a Secret of this name is somebody else's")
			h.writes()

			h.work1(t)
			assert.Equal(t, []string{noteStatus}, h.writes())
			c := h.imported(t)
			assert.Equal(t, "WaitingForToken", c.Reason)
			assert.Equal(t, metav1.ConditionFalse, metav1.ConditionStatus(c.Status))
			for _, part := range []string{tokenName, reason, "somebody else's"} {
				assert.Contains(t, c.Message, part)
			}
			h.work1(t)
			assert.Empty(t, h.writes(), "once, and no retry")
			assert.Empty(t, d.Requests())

			h.sayOfToken(t, metav1.ConditionTrue, "", "")
			h.answerToken(t)
			h.work1(t)
			assert.Equal(t, "Imported", h.imported(t).Reason)
		})
	}
}

func TestATokenThatIsBeingMadeIsNothingToReport(t *testing.T) {
	for _, reason := range []string{"", registration.TokenWaitsForAccount, registration.TokenWaitsForToken} {
		h, _ := importing(t)
		h.work1(t)
		h.sayOfToken(t, metav1.ConditionFalse, reason, "in a moment")
		h.writes()
		h.work1(t)
		assert.Empty(t, h.writes(), reason)
	}
}

// An agent that is well stays so while the token for another import is stuck, and its cluster shows why.
func TestAStuckTokenLeavesTheAgentThatRuns(t *testing.T) {
	h, d := joined(t)
	h.configure(t, map[string]any{"apiServerURL": "https://moved.example.com"})
	h.work1(t)
	h.sayOfToken(t, metav1.ConditionFalse, registration.TokenRequestFailed, "the API server: "+strings.Repeat("x", 5000))
	h.writes()
	d.Reset()

	h.work1(t)

	assert.Equal(t, []string{noteStatus}, h.writes())
	assert.Less(t, len(h.imported(t).Message), 1000)
	assert.NotNil(t, h.cluster().Status.AgentDeployedGeneration)
	assert.Empty(t, d.Requests())

	h.configure(t, nil)
	h.work1(t)
	assert.Equal(t, "WaitingForToken", h.imported(t).Reason, "what the agent was given is gone: the import goes on though nothing makes it due any more")
	h.sayOfToken(t, metav1.ConditionTrue, "", "")
	h.answerToken(t)
	h.work1(t)
	assert.Equal(t, "Imported", h.imported(t).Reason)
}

func TestWhatATokenSaysOfItselfFeedsTheQueue(t *testing.T) {
	h, queued := fed(t)
	h.clusters.Add(cluster())
	h.secrets.Add(kubeconfigSecret(map[string][]byte{keyKubeconfig: []byte("a kubeconfig")}))
	h.tokens.Add(importToken())
	h.event(t)
	queued()
	for _, step := range []struct {
		status  metav1.ConditionStatus
		reason  string
		message string
		fed     bool
	}{
		{metav1.ConditionFalse, registration.TokenSecretConflict, "one", true},
		{metav1.ConditionFalse, registration.TokenSecretConflict, "another", false},
		{metav1.ConditionFalse, registration.TokenRequestFailed, "another", true},
		{metav1.ConditionTrue, "", "", true},
		{metav1.ConditionTrue, "", "a note", false},
	} {
		h.sayOfToken(t, step.status, step.reason, step.message)
		h.event(t)
		assert.Equal(t, step.fed, len(queued()) == 1, "%+v", step)
	}
}
