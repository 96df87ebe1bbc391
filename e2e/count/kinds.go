package count

import "slices"

// Write says whether the request was a mutating one on a resource.
func (k Key) Write() bool {
	return k.Resource != "" && slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, k.Verb)
}

// Read says whether the request read a resource.
func (k Key) Read() bool {
	return k.Resource != "" && slices.Contains([]string{"get", "list", "watch"}, k.Verb)
}

// Leases are heartbeats and leader elections.
func Leases(k Key) bool { return k.Group == "coordination.k8s.io" && k.Resource == "leases" }

// Events of both API groups.
func Events(k Key) bool {
	return k.Resource == "events" && (k.Group == "" || k.Group == "events.k8s.io")
}

// Reviews are questions to the authenticator or the authorizer: create by verb, stored by nobody.
func Reviews(k Key) bool {
	return k.Group == "authorization.k8s.io" || k.Group == "authentication.k8s.io"
}

// By matches requests of a client, by its name without the version.
func By(userAgent string) func(Key) bool {
	return func(k Key) bool { return k.UserAgent == userAgent }
}

// ByUser matches requests of an authenticated user; for counts that come from an audit log.
func ByUser(user string) func(Key) bool {
	return func(k Key) bool { return k.User == user }
}

// On matches requests on a resource of a group, whatever the subresource.
func On(group, resource string) func(Key) bool {
	return func(k Key) bool { return k.Group == group && k.Resource == resource }
}

// Verb matches requests with one of the verbs.
func Verb(verbs ...string) func(Key) bool {
	return func(k Key) bool { return slices.Contains(verbs, k.Verb) }
}
