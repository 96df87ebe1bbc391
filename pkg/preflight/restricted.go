package preflight

import (
	"context"
	"slices"
)

// maxGiven bounds how many rights of value agent.rules are asked for, one question each.
const maxGiven = 200

// agentRule is one of value agent.rules of the chart fleet-agent, which replace "everything" for the agent.
type agentRule struct {
	APIGroups       []string `json:"apiGroups"`
	Resources       []string `json:"resources"`
	ResourceNames   []string `json:"resourceNames"`
	Verbs           []string `json:"verbs"`
	NonResourceURLs []string `json:"nonResourceURLs"`
}

// restricted says that the agent is to do what agent.rules allow, and nothing else. What it lacks by that is no fault.
func (v agentValues) restricted() bool { return len(v.Agent.Rules) > 0 }

// given are the rights that the chart gives such an agent. Nobody can give what he has not, unless he may escalate and bind.
func (v agentValues) given(namespace string) []need {
	given := []need{{verb: "get", resource: "namespaces"}}
	given = append(given, verbs("", "secrets", namespace, "get", "list", "watch", "create", "update", "patch", "delete")...)
	given = append(given, verbs("", "configmaps", namespace, "get", "list", "watch")...)
	given = append(given, verbs("", "pods", namespace, "get", "list", "watch")...)
	given = append(given, verbs("", "events", namespace, "list", "create", "patch")...)
	given = append(given, verbs("", "serviceaccounts", namespace, "get", "impersonate")...)
	given = append(given, verbs(apps, "replicasets", namespace, "get", "list", "watch")...)
	given = append(given, verbs(apps, "deployments", namespace, "get", "list", "watch", "update")...)
	given = append(given, verbs(leases, "leases", namespace, "get", "create", "update")...)
	for _, rule := range v.Agent.Rules { // last: what is cut off is never what the agent itself needs
		given = append(given, rule.needs()...)
	}
	return given[:min(len(given), maxGiven)]
}

func (r agentRule) needs() (needs []need) {
	ruleNames := r.ResourceNames
	if len(ruleNames) == 0 {
		ruleNames = []string{""}
	}
	for _, verb := range r.Verbs {
		for _, path := range r.NonResourceURLs {
			if len(needs) == maxGiven {
				return needs
			}
			needs = append(needs, need{verb: verb, path: path})
		}
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, name := range ruleNames {
					if len(needs) == maxGiven {
						return needs
					}
					needs = append(needs, need{verb: verb, group: group, resource: resource, name: name})
				}
			}
		}
	}
	return needs
}

// restrictedInstaller asks for what is needed to install the chart with agent.rules. That takes no right to give an agent
// everything.
func (c *caller) restrictedInstaller(ctx context.Context, namespace string, needs, given []need) allowed {
	lacks, err := c.refused(ctx, everything)
	if err != nil || len(lacks) == 0 {
		return allowed{all: err == nil, err: err}
	}
	for _, resource := range []string{"roles", "rolebindings"} {
		needs = append(slices.Clip(needs), verbs(rbac, resource, namespace, "create", "get", "patch", "delete")...)
	}
	gives, err := c.refused(ctx, append(verbs(rbac, "roles", namespace, "escalate", "bind"), givesEverything...))
	if err != nil {
		return allowed{err: err}
	}
	if len(gives) > 0 {
		needs = append(needs, given...)
	}
	lacks, err = c.refused(ctx, needs)
	return allowed{gives: len(gives) == 0, refused: lacks, err: err}
}

// decideRestrictedInstaller judges an account that is to install an agent with agent.rules.
func decideRestrictedInstaller(a allowed, who string) finding {
	const restricted = "; the agent is restricted to agent.rules, and gets no more"
	switch {
	case a.err != nil:
		return askedInVain(a.err)
	case a.all:
		return fine("it may do everything on the cluster" + restricted)
	case len(a.refused) > 0:
		return failure("it lacks, to install the chart fleet-agent and to give the agent its agent.rules: "+missing(a.refused),
			"Bind a role with these rights to the account of "+who+", or one with escalate and bind on roles and clusterroles for those of the agent"+restricted+".")
	}
	return fine("it may install the chart fleet-agent" + restricted)
}
