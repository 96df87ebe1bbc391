package registration

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOnlyWhatNobodyCanMendIsFinal(t *testing.T) {
	for _, reason := range []string{ReasonClusterGone, ReasonAccountConflict, ReasonCredentialConflict} {
		assert.True(t, IsFinal(reason), reason)
	}
	for _, reason := range []string{
		"", "InvalidRequest", "Denied", "IdentityDenied", "Revoked", "TokenUnknown", "IdentityConflict", "WaitingForApproval", "WaitingForNamespace",
		"WaitingForDeletion", "ClusterNameTaken", "SomethingOfALaterVersion",
	} {
		assert.False(t, IsFinal(reason), reason)
	}
}
