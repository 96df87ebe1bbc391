package apitest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"

	"k8s.io/client-go/kubernetes/scheme"
)

// Call is a request, taken apart.
type Call struct {
	// Verb is get, list, watch, create, update, patch or delete.
	Verb string
	// Resource is "group/resource", with an empty group for core.
	Resource, Namespace, Name, Subresource string
	Token, UserAgent, FieldSelector        string
	ContentType                            string
	Body                                   []byte

	apiVersion string
}

// Writes says whether the call changes something.
func (c Call) Writes() bool {
	return c.Verb == "create" || c.Verb == "update" || c.Verb == "patch" || c.Verb == "delete"
}

// On says whether the call is that verb on that resource.
func (c Call) On(verb, resource string) bool { return c.Verb == verb && c.Resource == resource }

func parse(r *http.Request) (Call, bool) {
	c := Call{
		Token:         strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "),
		UserAgent:     r.UserAgent(),
		FieldSelector: r.URL.Query().Get("fieldSelector"),
		ContentType:   r.Header.Get("Content-Type"),
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		c.apiVersion, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		c.Resource, c.apiVersion, parts = parts[1], parts[1]+"/"+parts[2], parts[3:]
	default:
		return Call{}, false
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		c.Namespace, parts = parts[1], parts[2:]
	}
	c.Resource += "/" + parts[0]
	if len(parts) > 1 {
		c.Name = parts[1]
	}
	if len(parts) > 2 {
		c.Subresource = parts[2]
	}
	c.Verb = verb(r, c.Name)
	body, _ := io.ReadAll(r.Body)
	c.Body = asJSON(body)
	return c, c.Verb != ""
}

// asJSON translates the protobuf that client-go sends for built-in kinds.
func asJSON(body []byte) []byte {
	if !bytes.HasPrefix(body, []byte("k8s\x00")) {
		return body
	}
	object, kind, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		return nil
	}
	object.GetObjectKind().SetGroupVersionKind(*kind)
	out, err := json.Marshal(object)
	if err != nil {
		return nil
	}
	return out
}

func verb(r *http.Request, name string) string {
	switch r.Method {
	case http.MethodGet:
		if watch := r.URL.Query().Get("watch"); watch == "true" || watch == "1" {
			return "watch"
		}
		if name == "" {
			return "list"
		}
		return "get"
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		return "delete"
	}
	return ""
}

func writeFile(path string, data []byte) error { return os.WriteFile(path, data, 0o600) }
