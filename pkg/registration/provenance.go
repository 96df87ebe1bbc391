package registration

// Reasons of condition ProvenanceEnforced of a registration token.
const (
	// ProvenanceInForce is the reason where the condition is True.
	ProvenanceInForce = "InForce"
	// ProvenanceNotServed says that the API server knows no admission policies.
	ProvenanceNotServed = "NotServed"
	// ProvenanceNotInstalled says that the policy, or its binding, does not exist.
	ProvenanceNotInstalled = "NotInstalled"
	// ProvenanceNotInForce says that the policy let a request through that it should have refused.
	ProvenanceNotInForce = "NotInForce"
	// ProvenanceNotProved says that the hub could not find out.
	ProvenanceNotProved = "NotProved"
)

// Provenance is what a hub knows of whether its API server checks what a registration request says of its origin: the
// token that it names, and who sent it. The zero value says that nothing is known yet.
type Provenance struct {
	Reason, Message string
}

// Known says whether the hub has found out.
func (p Provenance) Known() bool { return p.Reason != "" }

// Enforced says whether it is proved that requests are checked.
func (p Provenance) Enforced() bool { return p.Reason == ProvenanceInForce }
