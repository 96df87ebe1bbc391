package register

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// self is what the agent says of itself in a request.
type self struct {
	// Hostname is that of the pod which asks; Version is the agent's.
	Hostname, Version string
}

// request is the object to send.
func request(o order, a attempt, id registration.Identity, me self) *fleet.ClusterRegistration {
	labels := make(map[string]string, len(o.settings.Labels)+1)
	for key, value := range o.settings.Labels {
		labels[key] = value
	}
	if host := labelValue(me.Hostname); host != "" {
		labels[names.CreatedByAgentPodLabel] = host
	}
	req := &fleet.ClusterRegistration{
		ObjectMeta: metav1.ObjectMeta{Namespace: o.ClusterNamespace, Name: a.Request},
		Spec: fleet.ClusterRegistrationSpec{
			ClientID:      o.clientID,
			ClientRandom:  a.ClientRandom,
			ClusterLabels: labels,
			Identity: &fleet.RegistrationIdentity{
				PublicKey:  id.PublicKey(),
				ClusterUID: o.clusterUID,
				Requester:  o.claims.Subject,
			},
			Agent: &fleet.RegistrationAgent{Version: me.Version, Options: o.settings.Options},
		},
	}
	if o.TokenName != "" {
		req.Labels = map[string]string{names.RegistrationTokenLabel: o.TokenName}
	}
	return req
}

// labelValue makes a host's name fit for a label; empty where nothing is left of it.
func labelValue(host string) string {
	valid := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, host)
	if len(valid) > validation.LabelValueMaxLength {
		valid = valid[:validation.LabelValueMaxLength]
	}
	return strings.Trim(valid, "-_.")
}

// binding is what the credential for this request is bound to.
func binding(o order, a attempt, id registration.Identity, hubUID string) registration.Binding {
	return registration.Binding{
		HubUID:           hubUID,
		Workspace:        o.ClusterNamespace,
		Request:          a.Request,
		ClientID:         o.clientID,
		ClientRandom:     a.ClientRandom,
		ClusterUID:       o.clusterUID,
		PublicKey:        id.PublicKey(),
		ImportAccountUID: o.claims.AccountUID,
	}
}
