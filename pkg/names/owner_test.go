package names

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOwnerRefMakesTheRoundTrip(t *testing.T) {
	for _, want := range []OwnerRef{
		{Kind: "ClusterRegistration", Namespace: "fleet-default", Name: "request-x", UID: uid},
		{Kind: "Namespace", Name: "edge.eu", UID: uid},
	} {
		got, ok := ParseOwnerRef(want.String())
		assert.True(t, ok, want.String())
		assert.Equal(t, want, got)
	}
}

func TestMalformedOwnerRefsNameNobody(t *testing.T) {
	for _, s := range []string{
		"", "/", "///", "Cluster", "Cluster/ns/edge", "Cluster/ns/edge/", "Cluster/ns//uid", "/ns/edge/uid", "Cluster/ns/edge/uid/more",
		"Cluster/ns/../uid", "Cluster/%2e%2e/edge/uid", "Cluster/ns/Edge/uid", "Cluster/ns/a b/uid", "Clüster/ns/edge/uid", "\u212aind/ns/edge/uid",
		"Cluster/ns/edge/a\nb", "Cluster/ns/edge/\x1b[2J", "Cluster/ns/edge/" + a(MaxUID+1), "Cluster/ns/" + a(254) + "/uid", "Cluster/" + a(64) + "/edge/uid",
		a(64) + "/ns/edge/uid", strings.Repeat("/", 1<<20), " Cluster/ns/edge/uid", "Cluster/ns/edge/uid ",
	} {
		got, ok := ParseOwnerRef(s)
		assert.False(t, ok, "%q", s)
		assert.Zero(t, got, "%q", s)
	}
}

// Who owns an object is read from an annotation that others may have written, and goes into paths, logs and messages.
func FuzzParseOwnerRef(f *testing.F) {
	for _, seed := range []string{
		"", "////", "Cluster/fleet-default/edge/" + uid, "Namespace//edge.eu/" + uid, "Cluster/ns/../u", "Cluster/ns/edge/\x00", "\xff/\xff/\xff/\xff",
		"K/n/a/" + a(MaxUID), strings.Repeat("a/", 4), "Cluster/ns/" + a(253) + "/u", "\u212a/ns/edge/u",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o, ok := ParseOwnerRef(s)
		if !ok {
			require.Zero(t, o)
			return
		}
		require.True(t, o.IsValid())
		require.Equal(t, s, o.String(), "what is read is written alike")
		require.LessOrEqual(t, len(s), 63+1+63+1+253+1+MaxUID)
		require.Less(t, strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }), 0, "%q", s)
		require.NotContains(t, o.Namespace+"/"+o.Name, "..", "nothing that leads elsewhere in a path")
	})
}
