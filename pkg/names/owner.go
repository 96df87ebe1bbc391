package names

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// MaxUID is the longest UID that is believed to be one, in bytes.
const MaxUID = 64

// OwnerRef names the owner of an object in another namespace, as the value of OwnerAnnotation. An ownerReference must
// not stand there: it cannot cross namespaces, and the garbage collector would delete the object.
type OwnerRef struct {
	Kind, Namespace, Name, UID string
}

// String is "<kind>/<namespace>/<name>/<uid>"; none of the parts can contain a slash.
func (o OwnerRef) String() string {
	return strings.Join([]string{o.Kind, o.Namespace, o.Name, o.UID}, "/")
}

// ParseOwnerRef reads the value of OwnerAnnotation; ok is false where it is missing or malformed. Whoever may write such an
// object could have written it: what is read is bounded, and can stand in a path, a log and a message.
func ParseOwnerRef(s string) (o OwnerRef, ok bool) {
	parts := strings.SplitN(s, "/", 5)
	if len(parts) != 4 {
		return OwnerRef{}, false
	}
	o = OwnerRef{Kind: parts[0], Namespace: parts[1], Name: parts[2], UID: parts[3]}
	if o.UID == "" || !o.IsValid() {
		return OwnerRef{}, false
	}
	return o, true
}

// IsValid says whether an object can exist that an owner names. The namespace may be missing, and the UID too: the apply
// engine writes none down.
func (o OwnerRef) IsValid() bool {
	return isKind(o.Kind) &&
		(o.Namespace == "" || len(validation.IsDNS1123Label(o.Namespace)) == 0) &&
		len(validation.IsDNS1123Subdomain(o.Name)) == 0 &&
		(o.UID == "" || IsUID(o.UID))
}

// IsUID says whether a text of somebody's choice has the form of a UID.
func IsUID(s string) bool {
	return s != "" && len(s) <= MaxUID && strings.IndexFunc(s, notInUID) < 0
}

func isKind(s string) bool {
	return s != "" && len(s) <= validation.DNS1035LabelMaxLength && strings.IndexFunc(s, notAlphanumeric) < 0
}

func notInUID(r rune) bool { return notAlphanumeric(r) && r != '-' && r != '.' && r != '_' }

func notAlphanumeric(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
}
