package registration

import "slices"

// Reasons of condition Ready of a registration token, where it is False.
const (
	TokenWaitsForAccount = "WaitingForAccount"
	TokenWaitsForToken   = "WaitingForToken"
	TokenAccountConflict = "AccountConflict"
	TokenRequestFailed   = "TokenRequestFailed"
	TokenSecretConflict  = "SecretConflict"
	TokenWriteFailed     = "WriteFailed"
	TokenBeingDeleted    = "BeingDeleted"
	TokenWithoutServerCA = "NoServerCA"
)

// IsTokenStuck says whether a reason is one that does not end by itself within moments. The others say that the token is
// being made.
func IsTokenStuck(reason string) bool {
	return slices.Contains([]string{
		TokenAccountConflict, TokenRequestFailed, TokenSecretConflict, TokenWriteFailed, TokenBeingDeleted, TokenWithoutServerCA,
	}, reason)
}
