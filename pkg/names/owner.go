package names

import "strings"

// OwnerRef names the owner of an object in another namespace, as the value of OwnerAnnotation. An ownerReference must
// not stand there: it cannot cross namespaces, and the garbage collector would delete the object.
type OwnerRef struct {
	Kind, Namespace, Name, UID string
}

// String is "<kind>/<namespace>/<name>/<uid>"; none of the parts can contain a slash.
func (o OwnerRef) String() string {
	return strings.Join([]string{o.Kind, o.Namespace, o.Name, o.UID}, "/")
}

// ParseOwnerRef reads the value of OwnerAnnotation; ok is false where it is missing or malformed.
func ParseOwnerRef(s string) (o OwnerRef, ok bool) {
	parts := strings.Split(s, "/")
	if len(parts) != 4 || parts[0] == "" || parts[2] == "" || parts[3] == "" {
		return OwnerRef{}, false
	}
	return OwnerRef{Kind: parts[0], Namespace: parts[1], Name: parts[2], UID: parts[3]}, true
}
