package registration

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/pkg/names"
)

func TestPinMakesTheRoundTrip(t *testing.T) {
	for _, want := range []Pin{{Fingerprint: testFingerprint}, {Fingerprint: testFingerprint, ClusterUID: "uid"}} {
		got, err := PinOf(map[string]string{names.IdentityAnnotation: want.Annotation()})
		require.NoError(t, err)
		assert.Equal(t, &want, got)
	}
}

func TestNoAnnotationIsNoPin(t *testing.T) {
	for _, annotations := range []map[string]string{nil, {}, {"other": "{}"}} {
		pin, err := PinOf(annotations)
		require.NoError(t, err)
		assert.Nil(t, pin)
	}
}

// In doubt, keep: a pin that cannot be read binds the cluster to nobody, and opens it to nobody.
func TestUnreadablePinsAreErrors(t *testing.T) {
	for _, raw := range []string{
		"", "{}", "null", "[]", "text", `{"fingerprint":""}`, `{"fingerprint":5}`, `{"clusterUID":"uid"}`, strings.Repeat("{", 1<<20),
		`{"fingerprint":"` + strings.Repeat("a", maxFingerprint+1) + `"}`, `{"fingerprint":"a\u001b[2J"}`, `{"fingerprint":"ä"}`,
		`{"fingerprint":"a","clusterUID":"` + strings.Repeat("a", maxClientID+1) + `"}`, `{"fingerprint":"a","clusterUID":"a\nb"}`,
	} {
		pin, err := PinOf(map[string]string{names.IdentityAnnotation: raw})
		require.ErrorContains(t, err, names.IdentityAnnotation, "%.40q", raw)
		assert.Nil(t, pin)
		assert.Less(t, len(err.Error()), 300)
	}
}

func TestImportMakesTheRoundTrip(t *testing.T) {
	want := Import{
		TokenUID: "t", AccountUID: "a", ClusterUID: "c", Namespace: "ns", Previous: []string{"old"}, Kubeconfig: "k", Generation: "g",
		Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Attempts: 3,
	}
	got, ok := ImportOf(map[string]string{names.ImportAnnotation: want.Annotation()})
	require.True(t, ok)
	assert.Equal(t, want, got)
}

func TestUnreadableImportsAreNone(t *testing.T) {
	for _, annotations := range []map[string]string{nil, {names.ImportAnnotation: ""}, {names.ImportAnnotation: "[]"}, {names.ImportAnnotation: `{"time":"x"}`}} {
		got, ok := ImportOf(annotations)
		assert.False(t, ok)
		assert.Zero(t, got)
	}
}

// A negative number would shift a delay by a negative amount, and take the hub down.
func TestAnImportHasNoFewerThanNoAttempts(t *testing.T) {
	got, ok := ImportOf(map[string]string{names.ImportAnnotation: `{"attempts":-1}`})
	require.True(t, ok)
	assert.Zero(t, got.Attempts)
}
