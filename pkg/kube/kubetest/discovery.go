package kubetest

import (
	"encoding/json"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
)

// serveDiscovery answers what clients ask to learn what there is.
func (s *Server) serveDiscovery(w http.ResponseWriter, r *http.Request) bool {
	path := strings.Trim(r.URL.Path, "/")
	switch {
	case path == "version":
		writeJSON(w, http.StatusOK, version.Info{Major: "1", Minor: "37", GitVersion: "v1.37.0"})
	case path == "api":
		writeJSON(w, http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case path == "apis":
		writeJSON(w, http.StatusOK, s.groups())
	default:
		list, ok := s.resources(strings.TrimPrefix(strings.TrimPrefix(path, "apis/"), "api/"))
		if !ok {
			return false
		}
		writeJSON(w, http.StatusOK, list)
	}
	return true
}

func (s *Server) groups() metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	seen := map[string]bool{"": true}
	for _, kind := range s.kinds {
		if seen[kind.Group] {
			continue
		}
		seen[kind.Group] = true
		gv := metav1.GroupVersionForDiscovery{GroupVersion: kind.GroupVersion().String(), Version: kind.Version}
		list.Groups = append(list.Groups, metav1.APIGroup{
			Name: kind.Group, Versions: []metav1.GroupVersionForDiscovery{gv}, PreferredVersion: gv,
		})
	}
	return list
}

func (s *Server) resources(groupVersion string) (metav1.APIResourceList, bool) {
	list := metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: groupVersion,
	}
	for _, kind := range s.kinds {
		if kind.GroupVersion().String() == groupVersion {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: kind.Resource, Kind: kind.Kind, Namespaced: kind.Namespaced,
				Verbs: metav1.Verbs{"get", "list", "watch", "create", "update", "patch", "delete"},
			})
		}
	}
	return list, len(list.APIResources) > 0
}

func writeJSON(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

func writeStatus(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	writeJSON(w, code, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	})
}

// Fail answers with an error of the API, for use in Intercept.
func Fail(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	writeStatus(w, code, reason, message)
}
