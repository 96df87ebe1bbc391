package explain

import (
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

// maxSubject is how much of a certificate's subject is shown: whoever made it chose the text.
const maxSubject = 128

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
	if v.byHub() && (known.KubeconfigExpires != nil || v.isTrue(fleet.ClusterConditionImported)) { // one with a mere token shows no end
		out = append(out, Expiry{What: kubeconfig, Expires: utc(known.KubeconfigExpires), Note: "Secret " + v.kubeconfigSecret()})
	}
	if v.byHub() && known.KubeconfigCAExpires != nil {
		out = append(out, Expiry{What: kubeconfigCA, Expires: utc(known.KubeconfigCAExpires), Note: "Secret " + v.kubeconfigSecret()})
	}
	return out
}

func (v *view) credentialExpiry(known fleet.CredentialStatus) Expiry {
	x := Expiry{What: agentCredential, Expires: utc(known.Expires), Note: known.Type}
	x.Endless = x.Expires == nil && known.Type == registration.TypeSecret
	record := v.record
	if record == nil {
		return x
	}
	x.Fingerprint, x.Expires, x.Note = "digest "+record.Digest, utc(record.Expires), record.Type
	x.Endless = x.Expires == nil && record.Type == registration.TypeSecret
	valid := v.condition(fleet.ClusterConditionCredentialValid)
	switch {
	case (v.inUse || record.Used) && isFalse(valid) && valid.Reason == ReasonRevoked:
		x.Note += ", was in use, revoked"
	case (v.inUse || record.Used) && isFalse(valid):
		x.Note += ", was in use, good no longer"
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
		for _, cert := range registration.CertificatesIn(h.CA) {
			out = append(out, Expiry{
				What: hubCA, Fingerprint: "SHA-256 " + registration.CertificateSHA256(cert), Expires: timeOf(metav1.NewTime(cert.NotAfter)),
				Note: registration.Shown(cert.Subject.String(), maxSubject) + ", from " + h.Source,
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

func utc(at *metav1.Time) *metav1.Time {
	if at == nil {
		return nil
	}
	return timeOf(*at)
}
