package registration

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestATokenThatIsBeingMadeIsNotStuck(t *testing.T) {
	for reason, stuck := range map[string]bool{
		TokenWaitsForAccount: false, TokenWaitsForToken: false, "": false, "Unknown": false,
		TokenAccountConflict: true, TokenRequestFailed: true, TokenSecretConflict: true, TokenWriteFailed: true, TokenBeingDeleted: true,
		TokenWithoutServerCA: true,
	} {
		assert.Equal(t, stuck, IsTokenStuck(reason), reason)
	}
}
