package registration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/registration"
)

func TestAUsedCredentialIsMarkedOnceAndAsAWhole(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	record := fleet.CredentialRecord{Digest: "0123456789abcdef", AccountUID: "uid"}
	status := fleet.ClusterRegistrationStatus{Granted: true, Credentials: []fleet.CredentialRecord{record}}

	registration.MarkUsed(&status, record, now)

	require.Len(t, status.Credentials, 1)
	assert.True(t, status.Credentials[0].Used)
	assert.True(t, conditions.IsTrue(status.Conditions, fleet.RegistrationConditionCredentialUsed))
	ready := conditions.GetCondition(status.Conditions, fleet.RegistrationConditionCredentialReady)
	require.NotNil(t, ready)
	assert.Equal(t, registration.ReasonCredentialInUse, ready.Reason)

	before := *status.DeepCopy()
	registration.MarkUsed(&status, record, now.Add(time.Hour))
	assert.Equal(t, before, status)
}

func TestACredentialOfAGrantThatWasTakenBackDoesNotCountAsReady(t *testing.T) {
	var status fleet.ClusterRegistrationStatus
	registration.MarkUsed(&status, fleet.CredentialRecord{Digest: "0123456789abcdef"}, time.Unix(0, 0))
	assert.Nil(t, conditions.GetCondition(status.Conditions, fleet.RegistrationConditionCredentialReady))
}
