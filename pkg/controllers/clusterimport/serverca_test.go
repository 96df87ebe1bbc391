package clusterimport

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An agent would refuse what it is given: that is said of the hub's input, and nothing is put anywhere.
func TestACAThatNoAgentTakesIsSaidOnceAndWaitedFor(t *testing.T) {
	own := func(ca []byte) func(*testing.T, *hub, *downstream) {
		return func(_ *testing.T, h *hub, d *downstream) {
			h.secrets.Add(kubeconfigSecret(map[string][]byte{keyKubeconfig: d.kubeconfig, keyServerCA: ca}))
		}
	}
	conf := func(changes map[string]any) func(*testing.T, *hub, *downstream) {
		return func(t *testing.T, h *hub, _ *downstream) { t.Helper(); h.configure(t, changes) }
	}
	for name, test := range map[string]struct {
		reason       string
		spoil, amend func(*testing.T, *hub, *downstream)
	}{
		"none, until there is one":               {"NoServerCA", conf(map[string]any{"apiServerCA": nil}), conf(nil)},
		"none, until the secret has one":         {"NoServerCA", conf(map[string]any{"apiServerCA": nil}), own(caOf("own CA"))},
		"none, until the system's count":         {"NoServerCA", conf(map[string]any{"apiServerCA": nil}), conf(map[string]any{"apiServerCA": nil, "agentTLSMode": "system-store"})},
		"a configured one that is none":          {"InvalidServerCA", conf(map[string]any{"apiServerCA": []byte("x")}), conf(nil)},
		"the secret's is none":                   {"InvalidServerCA", own([]byte("x")), own(caOf("own CA"))},
		"the secret's is none, and is taken out": {"InvalidServerCA", own([]byte("x")), own(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			h, d := importing(t)
			test.spoil(t, h, d)
			for range 3 {
				h.work1(t)
			}
			assert.Equal(t, []string{noteStatus}, h.writes(), "one status, no token, no retry")
			assert.Equal(t, test.reason, h.imported(t).Reason)
			assert.Empty(t, d.Requests())
			seen := fingerprintNow(t, h)

			test.amend(t, h, d)
			assert.NotEqual(t, seen, fingerprintNow(t, h), "what mends it feeds the queue")
			h.importNow(t)
			assert.Equal(t, "Imported", h.imported(t).Reason)
			assert.Contains(t, d.objects(), "Secret cattle-fleet-system/fleet-agent-bootstrap")
		})
	}
}

func fingerprintNow(t *testing.T, h *hub) string {
	t.Helper()
	f, err := h.observe(h.cluster())
	require.NoError(t, err)
	return fingerprint(f, h.tokenVersion(f.cluster))
}
