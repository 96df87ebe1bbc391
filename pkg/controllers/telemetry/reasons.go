package telemetry

import "github.com/rancher/fleet/pkg/registration"

// Reasons of Events that are not those of a condition.
const (
	reasonGranted      = "Granted"
	reasonRegistered   = "Registered"
	reasonConnected    = "AgentConnected"
	reasonApproved     = "Approved"
	reasonReplaced     = "Replaced"
	reasonDenied       = "Denied"
	reasonTokenExpired = "TokenExpired"
)

// Reasons of conditions that are looked at one by one. They are those of docs/registration.md, which a test holds them
// against.
const (
	reasonIdentityConflict  = "IdentityConflict"
	reasonImportAccountGone = "ImportAccountGone"
	reasonExpiresSoon       = "ExpiresSoon"
	reasonRevoked           = "Revoked"
	reasonWaitingForAgent   = "WaitingForAgent"
)

// Results of handshakes.
const (
	resultGranted   = "granted"
	resultUsed      = "used"
	resultRefused   = "refused"
	resultDenied    = "denied"
	resultTakenBack = "taken_back"
	resultExpired   = "expired"
	resultAbandoned = "abandoned"
)

// resultImported is the result of an import that was done; the others are the reasons of condition Imported.
const resultImported = "imported"

// other is the label of what is not known by name.
const other = "other"

var results = []string{
	resultGranted, resultUsed, resultRefused, resultDenied, resultTakenBack, resultExpired, resultAbandoned,
}

// requestWaits are the reasons of Granted that end by themselves, or follow from an order.
var requestWaits = []string{"WaitingForImportAccount", "WaitingForDeletion", "WaitingForNamespace", "WaitingForProvenance", "Deleted"}

// requestRefusals are the reasons of Granted that keep a request until somebody does something, but a denial.
var requestRefusals = []string{
	"InvalidRequest", "TokenUnknown", "RequesterMismatch", "TokenNotForThisCluster", "ClusterNameTaken", "ClusterRefused",
	"IdentityRequired", "TokenUsedUp", "TooManyRequests",
	reasonIdentityConflict, "IdentityDenied", "WaitingForApproval", reasonRevoked,
	registration.ReasonAccountConflict, registration.ReasonCredentialConflict, registration.ReasonClusterGone,
}

// importFailures are the reasons of Imported that an import has failed for, or was not begun.
var importFailures = []string{
	"KubeconfigMissing", "KubeconfigIncomplete", "SecretNamespaceNotAllowed", "InvalidKubeconfig", "KubeconfigRefused", "Forbidden",
	"UntrustedCertificate", "CertificateMismatch", "Unreachable", "NoServerURL", "InvalidServerURL", "NoServerCA",
	"InvalidServerCA", "InvalidTLSMode",
	"InvalidAgentOptions", "AgentNamespaceTaken", "ImportTokenTaken", "WaitingForToken", "ImportFailed",
}

// attemptFailures are those of importFailures that an attempt at an import may end with; the others keep one from being
// made.
var attemptFailures = []string{
	"InvalidKubeconfig", "KubeconfigRefused", "Forbidden", "UntrustedCertificate", "CertificateMismatch", "Unreachable",
	"AgentNamespaceTaken", "ImportTokenTaken", "ImportFailed",
}

// importOrders are the reasons of Imported that follow from an order.
var importOrders = []string{"LocalAgentDisabled", reasonRevoked}

// tokenWaits are the reasons of a token's Ready that end by themselves, or follow from an order.
var tokenWaits = []string{registration.TokenWaitsForAccount, registration.TokenWaitsForToken, registration.TokenBeingDeleted}

// bundleRefusals are the reasons of a bundle's Ready for which nothing is done until somebody does something.
var bundleRefusals = []string{"InvalidBundle", "InvalidRollout", "InvalidResources", "ContentTooLarge", "ContentRefused", "AgentBundleChanged"}

// bundleWaits are those that end by themselves.
var bundleWaits = []string{"WaitingForValues"}
