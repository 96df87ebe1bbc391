package count

import (
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
)

var resolver = &request.RequestInfoFactory{
	APIPrefixes:          sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api"),
}

// Object names what a request was about; Namespace and Name are empty where the path has none.
type Object struct {
	Namespace string
	Name      string
}

// FromRequest reads a request to an API server the way the server does.
func FromRequest(r *http.Request) (Key, Object, error) {
	info, err := resolver.NewRequestInfo(r)
	if err != nil {
		return Key{}, Object{}, fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, err)
	}
	key := Key{UserAgent: ClientName(r.UserAgent()), Verb: info.Verb}
	if !info.IsResourceRequest {
		key.Path = info.Path
		return key, Object{}, nil
	}
	key.Group, key.Resource, key.Subresource = info.APIGroup, info.Resource, info.Subresource
	return key, Object{Namespace: info.Namespace, Name: info.Name}, nil
}

// ClientName cuts version and platform off a user agent: "fleet/v1.2.3 (linux/amd64) …" is "fleet".
func ClientName(userAgent string) string {
	name := userAgent
	if end := strings.IndexAny(name, "/ "); end >= 0 {
		name = name[:end]
	}
	return name
}
