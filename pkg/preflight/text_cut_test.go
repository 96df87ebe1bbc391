package preflight

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A server may repeat what it was sent so that the bound of a text falls into the credential.
func TestACredentialThatIsCutIsHiddenAsWell(t *testing.T) {
	const secret = "kubeconfig-user-abcdefghij"
	for padding := maxWord - len(secret) - 1; padding <= maxWord; padding++ {
		shown := clean(word(strings.Repeat("x", padding)+secret+" and more"), []string{secret})
		assert.NotContains(t, shown, secret[:minSecret+4], "after %d characters", padding)
	}
}
