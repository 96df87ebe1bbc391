package permissions

import (
	"fmt"
	"slices"
	"strings"
)

// Attempt is one thing that somebody tries to do.
type Attempt struct {
	Verb, Group, Resource, Subresource string
	// Namespace is empty for all of them, or for none.
	Namespace, Name string
	// Path is set, and the resource is not, for what is no resource.
	Path string
}

// What is the resource as the matrix writes it.
func (a Attempt) What() string {
	if a.Path != "" {
		return a.Path
	}
	what := a.Resource
	if a.Group != "" {
		what += "." + a.Group
	}
	if a.Subresource != "" {
		what += "/" + a.Subresource
	}
	return what
}

func (a Attempt) String() string {
	where := a.Namespace
	if where == "" {
		where = "-"
	}
	return fmt.Sprintf("verb=%s resource=%s namespace=%s name=%s", a.Verb, a.What(), where, a.Name)
}

// Named says that an attempt is made at an object of a name.
func (a Attempt) Named() bool {
	return slices.Contains([]string{"get", "update", "patch", "delete"}, a.Verb) || a.Subresource != ""
}

// Asked says that no request has the verb of an attempt, or none that could be made by itself: the API server is asked by
// a SelfSubjectAccessReview.
func (a Attempt) Asked() bool {
	return slices.Contains([]string{"register", "bind", "escalate", "approve", "sign", "use"}, a.Verb) ||
		a.Verb == "impersonate" && a.Resource != "users"
}

// attempts are what a row stands for.
func (r Row) attempts(places Places) (out []Attempt, err error) {
	name, err := places.nameOf(r.Name)
	if err != nil {
		return nil, err
	}
	verbs := slices.Concat(r.May, r.MayNot)
	if strings.HasPrefix(r.What, "/") {
		for _, verb := range verbs {
			out = append(out, Attempt{Verb: verb, Path: r.What})
		}
		return out, nil
	}
	full, subresource, _ := strings.Cut(r.What, "/")
	resource, group, _ := strings.Cut(full, ".")
	for _, where := range r.Where {
		namespace, err := places.NamespaceOf(where)
		if err != nil {
			return nil, err
		}
		for _, verb := range verbs {
			a := Attempt{Verb: verb, Group: group, Resource: resource, Subresource: subresource, Namespace: namespace, Name: name}
			if where == everywhere && a.Named() && inNamespaces(r.What) && !a.Asked() {
				continue // an object of a namespace cannot be named without it
			}
			out = append(out, a)
		}
	}
	return out, nil
}

// inNamespaces says whether the objects of a resource lie in namespaces.
func inNamespaces(what string) bool {
	for _, clusterScoped := range []string{"contents", "clusterrole", "namespaces", "nodes", "custom", "validating", "mutating", "certificatesigning", "users", "groups", "persistentvolumes", "storageclasses", "priorityclasses"} {
		if strings.HasPrefix(what, clusterScoped) {
			return false
		}
	}
	return true
}
