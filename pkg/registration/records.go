package registration

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// maxRecords is how many credentials of one request are remembered: the one in use, its successor, and a spare for each.
const maxRecords = 4

// Types of a record.
const (
	// TypeTokenRequest is a token that was requested from the API server, and ends.
	TypeTokenRequest = "TokenRequest"
	// TypeSecret is a token without an end, from a service-account-token Secret.
	TypeSecret = "Secret"
)

// neverEnds stands in the annotation for the end of a credential without one.
const neverEnds = "never"

// NewRecord describes a token of an account without telling it. One that has no end expires at the zero time.
func NewRecord(token string, issued, expires time.Time) (fleet.CredentialRecord, error) {
	claims, err := ParseClaims(token)
	if err != nil {
		return fleet.CredentialRecord{}, err
	}
	record := fleet.CredentialRecord{Digest: Digest(token), AccountUID: claims.AccountUID, Type: TypeSecret, Issued: stamp(issued)}
	if !expires.IsZero() {
		record.Type, record.Expires = TypeTokenRequest, stamp(expires)
	}
	return record, nil
}

// stamp is a time as precise as the API keeps it.
func stamp(t time.Time) *metav1.Time { return &metav1.Time{Time: t.UTC().Truncate(time.Second)} }

// Annotate notes a record on the secret that carries its token: a crash between that write and the one of the status
// then loses nothing.
func Annotate(annotations map[string]string, record fleet.CredentialRecord) {
	annotations[names.CredentialDigestAnnotation] = record.Digest
	annotations[names.CredentialAccountAnnotation] = record.AccountUID
	annotations[names.CredentialIssuedAnnotation] = record.Issued.UTC().Format(time.RFC3339)
	annotations[names.CredentialExpiresAnnotation] = neverEnds
	if record.Expires != nil {
		annotations[names.CredentialExpiresAnnotation] = record.Expires.UTC().Format(time.RFC3339)
	}
}

// RecordOf reads back what Annotate noted.
func RecordOf(annotations map[string]string) (fleet.CredentialRecord, bool) {
	issued, err := time.Parse(time.RFC3339, annotations[names.CredentialIssuedAnnotation])
	record := fleet.CredentialRecord{
		Digest:     annotations[names.CredentialDigestAnnotation],
		AccountUID: annotations[names.CredentialAccountAnnotation],
		Type:       TypeSecret,
		Issued:     stamp(issued),
	}
	if err != nil || !isTime(issued) || record.Digest == "" || record.AccountUID == "" {
		return record, false
	}
	if end := annotations[names.CredentialExpiresAnnotation]; end != neverEnds {
		expires, err := time.Parse(time.RFC3339, end)
		record.Type, record.Expires = TypeTokenRequest, stamp(expires)
		return record, err == nil && isTime(expires)
	}
	return record, true
}

// isTime says whether a time can stand in a status: JSON knows the years up to 9999.
func isTime(t time.Time) bool { return t.Unix() > 0 && t.Unix() <= maxUnix }

// Remember adds a record to those of a request. The oldest go first, but never the newest one that is in use.
func Remember(records []fleet.CredentialRecord, record fleet.CredentialRecord) []fleet.CredentialRecord {
	inUse := -1
	for i, have := range records {
		if have.Digest == record.Digest {
			return records
		}
		if have.Used {
			inUse = i
		}
	}
	kept := append([]fleet.CredentialRecord(nil), records...)
	for i := 0; len(kept) >= maxRecords; {
		if i == inUse {
			i++
			continue
		}
		kept = append(kept[:i], kept[i+1:]...)
		inUse--
	}
	return append(kept, record)
}

// RecordByDigest finds a record, nil where there is none.
func RecordByDigest(records []fleet.CredentialRecord, digest string) *fleet.CredentialRecord {
	for i := range records {
		if records[i].Digest == digest {
			return &records[i]
		}
	}
	return nil
}
