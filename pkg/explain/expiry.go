package explain

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"strings"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/registration"
)

// What ends some day.
const (
	agentCredential = "agent's credential"
	hubCA           = "hub's CA"
	kubeconfig      = "kubeconfig's credential"
	kubeconfigCA    = "kubeconfig's CA"
)

// Bounds of a bundle of certificates that is shown.
const (
	maxCertificates = 8
	maxSubject      = 128
)

// expiries are all that ends between hub and cluster some day, the agent's credential first.
func (v *view) expiries() []Expiry {
	out := []Expiry{}
	var known fleet.CredentialStatus
	if v.Cluster != nil && v.Cluster.Status.Credential != nil {
		known = *v.Cluster.Status.Credential
	}
	if v.record != nil || known.Type != "" || known.Expires != nil {
		out = append(out, v.credentialExpiry(known))
	}
	out = append(out, v.hubCAExpiries(known)...)
	if v.byHub() && known.KubeconfigExpires != nil {
		out = append(out, Expiry{What: kubeconfig, Expires: utc(known.KubeconfigExpires), Note: "Secret " + v.Cluster.Spec.KubeConfigSecret})
	}
	if v.byHub() && known.KubeconfigCAExpires != nil {
		out = append(out, Expiry{What: kubeconfigCA, Expires: utc(known.KubeconfigCAExpires), Note: "Secret " + v.Cluster.Spec.KubeConfigSecret})
	}
	return out
}

func (v *view) credentialExpiry(known fleet.CredentialStatus) Expiry {
	x := Expiry{What: agentCredential, Expires: utc(known.Expires), Note: known.Type}
	record := v.record
	if record == nil {
		return x
	}
	x.Fingerprint, x.Expires, x.Note = "digest "+record.Digest, utc(record.Expires), record.Type
	switch {
	case v.inUse:
		x.Note += ", in use"
	case record.Used:
		x.Note += ", was in use"
	default:
		x.Note += ", not seen in use"
	}
	// Only an agent that shows its credential takes another one, and only with one that is still good.
	if v.inUse && record.Issued != nil && record.Expires != nil && record.Expires.After(v.Now) && !v.isFalse(fleet.ClusterConditionCredentialValid) {
		x.Renewal = timeOf(metav1.NewTime(registration.RenewalDue(record.Issued.Time, record.Expires.Time)))
	}
	return x
}

// hubCAExpiries are the certificates that agents are given to trust the hub by, and when the last import's ends.
func (v *view) hubCAExpiries(known fleet.CredentialStatus) []Expiry {
	var out []Expiry
	if h := v.Hub.Value; h != nil {
		for _, cert := range certificates(h.CA) {
			sum := sha256.Sum256(cert.Raw)
			out = append(out, Expiry{
				What: hubCA, Fingerprint: "SHA-256 " + hex.EncodeToString(sum[:]), Expires: timeOf(metav1.NewTime(cert.NotAfter)),
				Note: subject(cert) + ", from " + h.Source,
			})
		}
	}
	if known.HubCAExpires == nil {
		return out
	}
	for _, x := range out {
		if x.Expires.Equal(known.HubCAExpires) {
			return out
		}
	}
	return append(out, Expiry{What: hubCA, Expires: utc(known.HubCAExpires), Note: "what the agent of this cluster was given"})
}

// certificates reads the first ones of a bundle; what is no certificate is left out.
func certificates(bundle []byte) []*x509.Certificate {
	var out []*x509.Certificate
	for len(out) < maxCertificates {
		var block *pem.Block
		if block, bundle = pem.Decode(bundle); block == nil {
			return out
		}
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" {
			out = append(out, cert)
		}
	}
	return out
}

// subject names a certificate; whoever made it chose the text.
func subject(cert *x509.Certificate) string {
	text := strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}, cert.Subject.String())
	if runes := []rune(text); len(runes) > maxSubject {
		text = string(runes[:maxSubject]) + "..."
	}
	return text
}

func utc(at *metav1.Time) *metav1.Time {
	if at == nil {
		return nil
	}
	return timeOf(*at)
}
