package hubtest

import (
	"encoding/json"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/rancher/fleet/pkg/agent/internal/apitest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// grant answers a request that was just created.
func (h *Hub) grant(c apitest.Call) {
	if !c.On("create", Registrations) {
		return
	}
	var sent fleet.ClusterRegistration
	if json.Unmarshal(c.Body, &sent) != nil {
		return
	}
	var req fleet.ClusterRegistration
	if !h.Get(Registrations, Workspace, sent.Name, &req) || req.Status.Granted {
		return
	}
	h.mu.Lock()
	o := h.options
	importAccount := h.requester(&req, c.Token)
	h.mu.Unlock()
	switch {
	case o.Mute:
		return
	case o.Hold != "":
		heldBack(&req, o.Hold)
	default:
		h.issue(&req, o, importAccount)
	}
	h.Put(Registrations, &req)
}

// requester finds the import account of a request.
func (h *Hub) requester(req *fleet.ClusterRegistration, token string) Account {
	if a, ok := h.accounts[token]; ok {
		return a
	}
	for _, a := range h.accounts {
		if req.Spec.Identity != nil && req.Spec.Identity.Requester == names.AccountUser(a.Namespace, a.Name) {
			return a
		}
	}
	return Account{}
}

// issue makes the credential and lets the import account read it, in this order.
func (h *Hub) issue(req *fleet.ClusterRegistration, o Options, importAccount Account) {
	life := o.Lifetime
	if life == 0 {
		life = 90 * 24 * time.Hour
	}
	account := Account{Namespace: AgentsNamespace, Name: names.Account(req.Name, "uid"), UID: string(uuid.NewUUID()), Request: req.Name}
	token := h.Mint(account, time.Now(), time.Now().Add(life))
	credential := registration.Credential{
		Token: token, DeploymentNamespace: Namespace, ClusterNamespace: Workspace, ClusterName: Cluster,
	}
	if id := req.Spec.Identity; id != nil && id.PublicKey != "" && !o.Plain {
		b := registration.Binding{
			HubUID: UID, Workspace: Workspace, Request: req.Name, ClientID: req.Spec.ClientID, ClientRandom: req.Spec.ClientRandom,
			ClusterUID: id.ClusterUID, PublicKey: id.PublicKey, ImportAccountUID: importAccount.UID,
		}
		if o.Strange {
			b.Request = "request-of-somebody-else"
		}
		sealed, err := registration.Seal(b, token)
		if err != nil {
			panic(err)
		}
		credential.Token, credential.SealedToken, credential.HubUID = "", sealed, UID
	}
	name := names.CredentialSecret(req.Spec.ClientID, req.Spec.ClientRandom)
	h.Put(Secrets, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: RegistrationNamespace, Name: name}, Data: credential.Data(),
	})
	h.mu.Lock()
	h.granted[name] = importAccount.UID
	h.mu.Unlock()
	req.Status.Granted, req.Status.ClusterName = true, Cluster
	req.Status.Conditions = nil
}

// PutLease makes the Lease for the heartbeat.
func (h *Hub) PutLease() {
	h.Put(Leases, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: Namespace, Name: names.HeartbeatLease, Labels: map[string]string{names.ManagedLabel: "true"},
	}})
}

// Lease reads it.
func (h *Hub) Lease() coordinationv1.Lease {
	var lease coordinationv1.Lease
	h.Get(Leases, Namespace, names.HeartbeatLease, &lease)
	return lease
}

// Holder is what the Lease says of its writer.
func (h *Hub) Holder() (registration.Holder, bool) {
	lease := h.Lease()
	if lease.Spec.HolderIdentity == nil {
		return registration.Holder{}, false
	}
	return registration.ParseHolder(*lease.Spec.HolderIdentity)
}

// PutRenewal lays the next credential ready.
func (h *Hub) PutRenewal(token string) {
	h.Put(Secrets, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: names.RenewedCredentialSecret},
		Data:       map[string][]byte{registration.KeyToken: []byte(token)},
	})
}
