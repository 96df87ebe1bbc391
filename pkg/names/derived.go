package names

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/rancher/wrangler/v3/pkg/name"
)

// keyHashInput is how much of a key KeyHash looks at, in bytes.
const keyHashInput = 100

// SafeConcat joins parts with "-" and shortens the result to 63 bytes by a hash where it is longer.
func SafeConcat(parts ...string) string {
	return name.SafeConcatName(parts...)
}

// KeyHash is the first 12 hex digits of the SHA-256 of the first 100 bytes of s.
func KeyHash(s string) string {
	if len(s) > keyHashInput {
		s = s[:keyHashInput]
	}
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:12]
}

// RegistrationNamespace is where import accounts and credential secrets live, derived from the system namespace.
func RegistrationNamespace(system string) string {
	return sibling(system, "-clusters-system")
}

// AgentsNamespace is where request accounts live, derived from the system namespace.
func AgentsNamespace(system string) string {
	return sibling(system, "-agents-system")
}

// sibling replaces every "-system", or appends the suffix. A result that could be no namespace is shortened.
func sibling(system, suffix string) string {
	if strings.Contains(system, "-system") {
		return SafeConcat(strings.ReplaceAll(system, "-system", suffix))
	}
	return SafeConcat(system + suffix)
}

// ClusterNamespace is the namespace of one cluster on the hub. The hash is over a separator that no name can contain,
// so that two pairs of workspace and cluster do not share one. Dots, which a cluster's name may have and a namespace may
// not, become dashes after the hashes are taken.
func ClusterNamespace(workspace, cluster string) string {
	namespace := SafeConcat("cluster", workspace, cluster, KeyHash(workspace+"::"+cluster))
	return strings.ReplaceAll(namespace, ".", "-")
}

// ClusterPlace is the namespace of one cluster on the hub after it was revoked and readmitted so many times: another one each
// time, since a watch of before sees a namespace that is made anew under its name. The number is hashed, so that names of all
// rounds have the same form.
func ClusterPlace(workspace, cluster string, round int) string {
	if round == 0 {
		return ClusterNamespace(workspace, cluster)
	}
	namespace := SafeConcat("cluster", workspace, cluster, KeyHash(strconv.Itoa(round)+"::"+workspace+"::"+cluster))
	return strings.ReplaceAll(namespace, ".", "-")
}

// RegisteredCluster is the name of a Cluster that an agent's registration creates.
func RegisteredCluster(clientID string) string {
	return "cluster-" + KeyHash(clientID)
}

// ImportToken is the registration token that the hub makes to import a cluster.
func ImportToken(cluster string) string {
	return SafeConcat("import-token-" + cluster)
}

// Account is the service account of a token or of a registration request.
func Account(owner, uid string) string {
	return SafeConcat(owner, uid)
}

// AccountToken is the Secret that carries the token of an account without an end.
func AccountToken(account string) string {
	return account + "-token"
}

// ImportRole is what an import account may do in its workspace.
func ImportRole(account string) string {
	return SafeConcat(account, "role")
}

// ImportRoleBinding binds ImportRole.
func ImportRoleBinding(account string) string {
	return SafeConcat(account, "to", "role")
}

// CredentialAccess is the Role, and its binding, by which an import account reads the credentials that wait for it. It is
// the hash of the account's name: a name that is cut ends in so short a one that somebody can find another account with
// the same, and the Role would be both accounts'.
func CredentialAccess(account string) string {
	sum := sha256.Sum256([]byte(account))
	return "creds-" + hex.EncodeToString(sum[:])[:credentialAccessDigits]
}

// credentialAccessDigits leaves room for a number behind the name.
const credentialAccessDigits = 48

// CredentialSecret is the Secret that carries a granted credential to the agent.
func CredentialSecret(clientID, clientRandom string) string {
	sum := sha256.Sum256([]byte(clientID + clientRandom))
	return ("c-" + hex.EncodeToString(sum[:]))[:maxName]
}

// AgentBundle is the bundle that keeps the agent of a cluster current.
func AgentBundle(cluster string) string {
	return SafeConcat(agentBundlePrefix, cluster)
}

// AgentRole is the ClusterRole of an agent.
func AgentRole(agentNamespace string) string {
	return SafeConcat(agentNamespace, "fleet-agent", "role")
}

// AgentRoleBinding binds AgentRole.
func AgentRoleBinding(agentNamespace string) string {
	return SafeConcat(agentNamespace, "fleet-agent", "role", "binding")
}

// AgentSet is the apply set of an agent's objects on the downstream cluster; scope is the cluster's own agent
// namespace, empty for the default one.
func AgentSet(scope string) string {
	if scope == "" {
		return SetAgent
	}
	return SafeConcat(SetAgent, scope)
}

// BundleSet is the apply set of a bundle's objects on a downstream cluster. The bundle of the agent itself has AgentSet, the
// one of what the import applied, and so takes that over; scope tells the agents of one cluster apart.
func BundleSet(bundleID, scope string) string {
	if scope == "" {
		return SafeConcat("default", bundleID)
	}
	return SafeConcat("default", bundleID, scope)
}

// agentBundlePrefix begins the names of AgentBundle.
const agentBundlePrefix = "fleet-agent"

// AccountUser is the user name by which the API server knows a service account.
func AccountUser(namespace, account string) string {
	return "system:serviceaccount:" + namespace + ":" + account
}

// IsFleetsAccount says whether a service account in the namespace of an agent, or of the hub, is one that Fleet itself acts by.
func IsFleetsAccount(name string) bool {
	return name == AgentAccount || name == ControllerAccount || name == BootstrapAccount
}

// AccountsGroup is the group of all service accounts of a namespace.
func AccountsGroup(namespace string) string {
	return "system:serviceaccounts:" + namespace
}
