package registration

// Reasons of condition Granted that nothing on the hub ends for the request that has them: the agent must ask again. All
// other refusals end when somebody approves, mends or readmits something, and the request waits for that.
const (
	// ReasonClusterGone is said of a request whose Cluster was deleted.
	ReasonClusterGone = "ClusterGone"
	// ReasonAccountConflict is said of a request whose account's name is another request's.
	ReasonAccountConflict = "AccountConflict"
	// ReasonCredentialConflict is said of a request whose credential's name is another request's.
	ReasonCredentialConflict = "CredentialConflict"
)

// IsFinal says whether a reason of condition Granted is the last word on a request.
func IsFinal(reason string) bool {
	return reason == ReasonClusterGone || reason == ReasonAccountConflict || reason == ReasonCredentialConflict
}
