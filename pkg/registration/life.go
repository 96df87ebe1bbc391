package registration

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"slices"
	"time"
)

const (
	// maxBundle is how many certificates a bundle may have for its end to mean something. With more it is a store of many
	// authorities, one of which always ends.
	maxBundle = 8
	// lifeLeft is the share of a life, one in so many, below which its end is near.
	lifeLeft = 5
	// maxSubject is how much of a certificate's subject is repeated: whoever made it chose the text.
	maxSubject = 80
)

// Life is how long something is good: a certificate, the CA in a bundle, a token. The zero value says that it is not known,
// or has no end.
type Life struct {
	From, Until time.Time
	// Fingerprint is the beginning of the SHA-256 of the certificate, empty for a token.
	Fingerprint string
	// Others says that the bundle has another certificate, which is good for longer.
	Others bool
}

// Known says whether there is an end that is known.
func (l Life) Known() bool { return !l.Until.IsZero() }

// Ended says whether it is over.
func (l Life) Ended(now time.Time) bool { return l.Known() && !now.Before(l.Until) }

// EndsSoon says whether less than a fifth of a life is left, or none. One without a beginning cannot be measured.
func (l Life) EndsSoon(now time.Time) bool {
	return l.Ended(now) || l.Known() && !l.From.IsZero() && !now.Before(l.nearEnd())
}

// Next is the next time at which something about it changes: the end comes near, or comes. It is zero if nothing will.
func (l Life) Next(now time.Time) time.Time {
	if !l.Known() || l.Ended(now) {
		return time.Time{}
	}
	if !l.From.IsZero() && now.Before(l.nearEnd()) {
		return l.nearEnd()
	}
	return l.Until
}

func (l Life) nearEnd() time.Time { return l.Until.Add(-l.Until.Sub(l.From) / lifeLeft) }

// LifeOfCA is the life of what a bundle of trusted certificates is needed for. Which of several the server needs is not
// known, so the first to end counts, except those that have ended while others are good, and those that were renewed: one
// with the same subject and key is good for longer.
func LifeOfCA(bundle []byte, now time.Time) Life {
	all := CertificatesIn(bundle)
	if len(all) > maxBundle {
		return Life{}
	}
	certs := slices.DeleteFunc(slices.Clone(all), func(c *x509.Certificate) bool { return renewedIn(all, c) })
	good := slices.DeleteFunc(slices.Clone(certs), func(c *x509.Certificate) bool { return !now.Before(c.NotAfter) })
	switch {
	case len(good) > 0:
		first := slices.MinFunc(good, byEnd)
		life := lifeOf(first)
		life.Others = slices.ContainsFunc(good, func(c *x509.Certificate) bool { return c.NotAfter.After(first.NotAfter) })
		return life
	case len(certs) > 0:
		return lifeOf(slices.MaxFunc(certs, byEnd))
	}
	return Life{}
}

// LifeOfChain is the life of a certificate that is shown to others, with those that it was signed by: the first to end
// ends it.
func LifeOfChain(chain []byte) Life {
	certs := CertificatesIn(chain)
	if len(certs) == 0 {
		return Life{}
	}
	return lifeOf(slices.MinFunc(certs, byEnd))
}

// LifeOfToken is what a token says of its own life; nothing of it is verified. Most that are no JWT, and those without an
// end, say nothing.
func LifeOfToken(token string) Life {
	claims, err := ParseClaims(token)
	if err != nil || claims.Expires.IsZero() {
		return Life{}
	}
	from := claims.IssuedAt
	if from.IsZero() {
		from = claims.NotBefore
	}
	if from.After(claims.Expires) {
		from = time.Time{}
	}
	return Life{From: from, Until: claims.Expires}
}

// Sooner is the one of two lives that ends first. One that is not known ends last.
func Sooner(a, b Life) Life {
	if !a.Known() || b.Known() && b.Until.Before(a.Until) {
		return b
	}
	return a
}

// CertificatesIn reads the certificates of a bundle, a few more than are of use. What is no certificate is left out, as
// Go's own pools do.
func CertificatesIn(bundle []byte) []*x509.Certificate {
	var certs []*x509.Certificate
	for len(certs) <= maxBundle {
		var block *pem.Block
		if block, bundle = pem.Decode(bundle); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" || len(block.Headers) > 0 {
			continue
		}
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil && plausible(cert) {
			certs = append(certs, cert)
		}
	}
	return certs
}

// plausible keeps out times that an API object cannot hold.
func plausible(c *x509.Certificate) bool {
	return c.NotAfter.Unix() > 0 && c.NotAfter.Unix() <= maxUnix && !c.NotAfter.Before(c.NotBefore)
}

func renewedIn(all []*x509.Certificate, c *x509.Certificate) bool {
	return slices.ContainsFunc(all, func(other *x509.Certificate) bool {
		return other.NotAfter.After(c.NotAfter) && string(other.RawSubject) == string(c.RawSubject) &&
			string(other.RawSubjectPublicKeyInfo) == string(c.RawSubjectPublicKeyInfo)
	})
}

func byEnd(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) }

func lifeOf(c *x509.Certificate) Life {
	return Life{From: c.NotBefore.UTC(), Until: c.NotAfter.UTC(), Fingerprint: CertificateFingerprint(c)}
}

// DescribeCertificate tells which certificate it is, so that people who cannot see each other's screen can compare.
func DescribeCertificate(c *x509.Certificate) string {
	return fmt.Sprintf("%q (SHA-256 %s)", Printable(c.Subject.String(), maxSubject), CertificateFingerprint(c))
}

// CertificateFingerprint is the beginning of the SHA-256 of a certificate, enough to compare two by.
func CertificateFingerprint(c *x509.Certificate) string { return CertificateSHA256(c)[:digestLength] }

// CertificateSHA256 is all of it, as other programs show it.
func CertificateSHA256(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}
