package registration

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

func record(digest string, used bool) fleet.CredentialRecord {
	return fleet.CredentialRecord{Digest: digest, Used: used}
}

func digests(records []fleet.CredentialRecord) (all []string) {
	for _, r := range records {
		all = append(all, r.Digest)
	}
	return all
}

func TestRecordMakesTheRoundTripThroughAnnotations(t *testing.T) {
	issued := time.Date(2026, 1, 1, 12, 0, 0, 999, time.FixedZone("", 3600))
	want, err := NewRecord(jwt(requestedClaims), issued, issued.Add(time.Hour))
	require.NoError(t, err)
	assert.Equal(t, fleet.CredentialRecord{
		Digest: Digest(jwt(requestedClaims)), AccountUID: "uid-1", Type: "TokenRequest",
		Issued:  &metav1.Time{Time: time.Date(2026, 1, 1, 11, 0, 0, 0, time.UTC)},
		Expires: &metav1.Time{Time: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)},
	}, want)
	annotations := map[string]string{}
	Annotate(annotations, want)
	got, ok := RecordOf(annotations)
	require.True(t, ok)
	assert.Equal(t, want, got)
	for key, value := range annotations {
		assert.NotContains(t, value, jwt(requestedClaims)[:8], "%s tells nothing of the token", key)
	}

	for key := range annotations {
		broken := map[string]string{}
		Annotate(broken, want)
		delete(broken, key)
		_, ok := RecordOf(broken)
		assert.False(t, ok, "without %s", key)
	}
	_, ok = RecordOf(nil)
	assert.False(t, ok)
	for _, when := range []string{"tomorrow", "9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00Z", "2026-01-01"} {
		annotations[names.CredentialExpiresAnnotation] = when
		_, ok = RecordOf(annotations)
		assert.False(t, ok, when)
	}

	_, err = NewRecord("no token", issued, issued)
	assert.Error(t, err)
}

func TestRememberKeepsTheCredentialInUse(t *testing.T) {
	for _, test := range []struct {
		what string
		have []fleet.CredentialRecord
		add  string
		want []string
	}{
		{"the first", nil, "a", []string{"a"}},
		{"one that is known", []fleet.CredentialRecord{record("a", true)}, "a", []string{"a"}},
		{"room is left", []fleet.CredentialRecord{record("a", true), record("b", false), record("c", false)}, "d", []string{"a", "b", "c", "d"}},
		{"the oldest goes", []fleet.CredentialRecord{record("a", true), record("b", true), record("c", false), record("d", false)}, "e", []string{"b", "c", "d", "e"}},
		{"not the one in use", []fleet.CredentialRecord{record("a", true), record("b", false), record("c", false), record("d", false)}, "e", []string{"a", "c", "d", "e"}},
		{"nor as the last", []fleet.CredentialRecord{record("a", false), record("b", false), record("c", false), record("d", true)}, "e", []string{"b", "c", "d", "e"}},
		{"none is in use", []fleet.CredentialRecord{record("a", false), record("b", false), record("c", false), record("d", false)}, "e", []string{"b", "c", "d", "e"}},
		{"too many, by another hand", []fleet.CredentialRecord{record("a", false), record("b", true), record("c", false), record("d", false), record("e", false), record("f", false)},
			"g", []string{"b", "e", "f", "g"}},
	} {
		t.Run(test.what, func(t *testing.T) {
			before := digests(test.have)
			got := Remember(test.have, record(test.add, false))
			assert.Equal(t, test.want, digests(got))
			assert.Equal(t, before, digests(test.have), "the list that was given stays")
		})
	}
}

func TestRecordByDigest(t *testing.T) {
	records := []fleet.CredentialRecord{record("a", false), record("b", false)}
	assert.Same(t, &records[1], RecordByDigest(records, "b"))
	assert.Nil(t, RecordByDigest(records, "c"))
	assert.Nil(t, RecordByDigest(nil, "a"))
}

func TestRecordOfACredentialWithoutAnEnd(t *testing.T) {
	want, err := NewRecord(jwt(requestedClaims), time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), time.Time{})
	require.NoError(t, err)
	assert.Equal(t, "Secret", want.Type)
	assert.Nil(t, want.Expires)
	annotations := map[string]string{}
	Annotate(annotations, want)
	got, ok := RecordOf(annotations)
	require.True(t, ok)
	assert.Equal(t, want, got)
}
