package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rancher/fleet/pkg/names"
)

// need is something that an account must be allowed to do.
type need struct {
	verb, group, resource, namespace, name string
	// path is that of a need which is no resource.
	path string
}

// everything is what the agent may do on its cluster. Nobody can give it who has less, unless he may escalate and bind.
var everything = []need{
	{verb: "*", group: "*", resource: "*"},
	{verb: "*", path: "*"},
}

// givesEverything lets an account make the agent's roles without having all rights itself.
var givesEverything = []need{
	{verb: "escalate", group: rbac, resource: "clusterroles"},
	{verb: "bind", group: rbac, resource: "clusterroles"},
}

const (
	rbac       = "rbac.authorization.k8s.io"
	apps       = "apps"
	networking = "networking.k8s.io"
	policy     = "policy"
	leases     = "coordination.k8s.io"
	fleetGroup = "fleet.cattle.io"
)

// importNeeds is what the hub does on a cluster that it imports: it looks which one it is, makes the agent's namespace,
// applies the agent's objects, writes its secrets, and removes all of it again.
func importNeeds(namespace string) []need {
	needs := []need{
		{verb: "get", resource: "namespaces", name: "kube-system"},
		{verb: "get", resource: "namespaces", name: namespace},
		{verb: "patch", resource: "namespaces", name: namespace},
		{verb: "create", resource: "namespaces"},
	}
	applied := []string{"list", "create", "get", "patch", "delete"}
	needs = append(needs, verbs(rbac, "clusterroles", "", applied...)...)
	needs = append(needs, verbs(rbac, "clusterrolebindings", "", applied...)...)
	needs = append(needs, verbs("", "serviceaccounts", namespace, applied...)...)
	needs = append(needs, verbs("", "configmaps", namespace, applied...)...)
	needs = append(needs, verbs(networking, "networkpolicies", namespace, applied...)...)
	needs = append(needs, verbs(apps, "deployments", namespace, applied...)...)
	needs = append(needs, verbs("", "secrets", namespace, "get", "create", "update", "delete")...)
	needs = append(needs, verbs(apps, "statefulsets", namespace, "delete")...)
	needs = append(needs, verbs(policy, "poddisruptionbudgets", namespace, "delete")...)
	return append(needs, verbs(leases, "leases", namespace, "delete")...)
}

// chartNeeds is what Helm does when it installs or upgrades the chart fleet-agent.
func chartNeeds(namespace string, makesNamespace bool) []need {
	var needs []need
	if makesNamespace {
		needs = append(needs, need{verb: "create", resource: "namespaces"})
	}
	installed := []string{"create", "get", "patch", "delete"}
	needs = append(needs, verbs("", "secrets", namespace, "list", "create", "get", "update", "patch", "delete")...)
	needs = append(needs, verbs("", "serviceaccounts", namespace, installed...)...)
	needs = append(needs, verbs("", "configmaps", namespace, installed...)...)
	needs = append(needs, verbs(apps, "deployments", namespace, installed...)...)
	needs = append(needs, verbs(networking, "networkpolicies", namespace, installed...)...)
	needs = append(needs, verbs(rbac, "clusterroles", "", installed...)...)
	return append(needs, verbs(rbac, "clusterrolebindings", "", installed...)...)
}

// registrationNeeds is what an agent does on the hub before it is granted anything.
func registrationNeeds(workspace, tokenName string) []need {
	needs := verbs(fleetGroup, "clusterregistrations", workspace, "create", "get")
	if tokenName != "" {
		needs = append(needs, need{verb: "register", group: fleetGroup, resource: "clusterregistrationtokens", namespace: workspace, name: tokenName})
	}
	return needs
}

func verbs(group, resource, namespace string, all ...string) []need {
	var needs []need
	for _, verb := range all {
		needs = append(needs, need{verb: verb, group: group, resource: resource, namespace: namespace})
	}
	return needs
}

// maxMissing bounds how many missing rights are named.
const maxMissing = 12

// missing names rights, those on one kind together.
func missing(needs []need) string {
	var kinds []string
	byKind := map[string][]string{}
	for _, n := range needs {
		kind := n.kind()
		if byKind[kind] == nil {
			kinds = append(kinds, kind)
		}
		if !slices.Contains(byKind[kind], n.verb) {
			byKind[kind] = append(byKind[kind], n.verb)
		}
	}
	var lines []string
	for _, kind := range kinds {
		lines = append(lines, strings.Join(byKind[kind], ", ")+" on "+kind)
	}
	if len(lines) > maxMissing {
		lines = append(lines[:maxMissing], fmt.Sprintf("and on %d other kinds", len(kinds)-maxMissing))
	}
	return strings.Join(lines, "; ")
}

func (n need) kind() string {
	switch {
	case n.path != "":
		return "URL " + n.path
	case n.resource == "*":
		return "everything"
	}
	kind := n.resource
	if n.group != "" {
		kind += "." + n.group
	}
	if n.namespace != "" {
		kind += " in namespace " + n.namespace
	}
	return kind
}

// allowed is which needs an account was asked for and which of them it has not.
type allowed struct {
	// all says that it may do everything, and nothing else was asked.
	all bool
	// gives says that it may give an agent all rights without having them.
	gives   bool
	refused []need
	err     error
}

// decideInstaller judges an account that is to put an agent onto a cluster.
func decideInstaller(a allowed, who, what string) finding {
	remedy := "Bind ClusterRole cluster-admin to the account of " + who + "; less is not enough to give the agent its own rights."
	switch {
	case a.err != nil:
		return askedInVain(a.err)
	case a.all:
		return fine("it may do everything on the cluster")
	case !a.gives && len(a.refused) == 0:
		return failure("it may "+what+", but not give the agent all rights (escalate and bind on clusterroles."+rbac+")", remedy)
	case !a.gives:
		return failure("it has not all rights, which it would have to give the agent; it lacks: "+missing(a.refused), remedy)
	case len(a.refused) > 0:
		return failure("it lacks: "+missing(a.refused), remedy)
	}
	return fine("it may " + what)
}

// decideRegistrar judges the account of a registration token.
func decideRegistrar(a allowed, workspace string) finding {
	again := valuesWords.renew
	switch {
	case a.err != nil:
		return askedInVain(a.err)
	case slices.ContainsFunc(a.refused, func(n need) bool { return n.verb == "create" }):
		return failure(fmt.Sprintf("the token may not ask for a registration in workspace %s; it lacks: %s", word(workspace), missing(a.refused)), again)
	case len(a.refused) > 0:
		return doubt("it may ask for a registration; it lacks: "+missing(a.refused), again)
	}
	return fine("it may ask for a registration in workspace " + word(workspace))
}

func askedInVain(err error) finding {
	return doubt("the server does not say what the account may do: "+word(err.Error()), "Look with kubectl auth can-i what the account may do.")
}

// agentNamespace is where an agent runs unless somebody says otherwise.
const agentNamespace = names.DefaultSystemNamespace
