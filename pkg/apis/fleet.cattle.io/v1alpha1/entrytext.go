package v1alpha1

import "strings"

// String says in one line what is wrong with the object. The text ends in conditions and is part of the API.
func (m ModifiedStatus) String() string {
	subject := entrySubject(m.APIVersion, m.Kind, m.Namespace, m.Name)
	switch {
	case m.Create && m.Exist:
		return subject + " is not owned by us"
	case m.Create:
		return subject + " missing"
	case m.Delete:
		return subject + " extra"
	default:
		return subject + " modified " + m.Patch
	}
}

// String says in one line why the object is not ready. The text ends in conditions and is part of the API.
func (n NonReadyStatus) String() string {
	return entrySubject(n.APIVersion, n.Kind, n.Namespace, n.Name) + " " + n.Summary.String()
}

// entrySubject names an object as "kind.group namespace/name". For the core group the version stands in the group's place.
func entrySubject(apiVersion, kind, namespace, name string) string {
	group, _, _ := strings.Cut(apiVersion, "/")
	subject := strings.ToLower(kind)
	if group != "" {
		subject += "." + group
	}
	if namespace != "" {
		return subject + " " + namespace + "/" + name
	}
	return subject + " " + name
}
