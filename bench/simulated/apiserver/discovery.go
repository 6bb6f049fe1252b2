package apiserver

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serverversion "k8s.io/apimachinery/pkg/version"
)

// discover answers what clients ask about the server itself. It reports whether the path is one of these.
func (s *Server) discover(w http.ResponseWriter, r *http.Request) bool {
	switch r.URL.Path {
	case "/healthz", "/readyz", "/livez":
		_, _ = w.Write([]byte("ok")) // a client that is gone needs no answer
		return true
	case "/version":
		writeJSON(w, http.StatusOK, serverversion.Info{Major: "1", Minor: "37", GitVersion: "v1.37.2"})
		return true
	case "/api":
		writeJSON(w, http.StatusOK, &metav1.APIVersions{
			TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"},
		})
		return true
	case "/apis":
		writeJSON(w, http.StatusOK, s.groups())
		return true
	}
	gv, ok := groupVersionOf(r.URL.Path)
	if !ok {
		return false
	}
	list := s.resourcesOf(gv)
	if len(list.APIResources) == 0 {
		writeJSON(w, http.StatusNotFound, &metav1.Status{
			TypeMeta: statusType, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound,
			Code: http.StatusNotFound, Message: "the server could not find the requested resource",
		})
		return true
	}
	writeJSON(w, http.StatusOK, list)
	return true
}

func (s *Server) groups() *metav1.APIGroupList {
	list := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	seen := map[schema.GroupVersion]bool{}
	for _, c := range s.collections {
		gv := c.resource.Kind.GroupVersion()
		if gv.Group == "" || seen[gv] {
			continue
		}
		seen[gv] = true
		served := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
		list.Groups = append(list.Groups, metav1.APIGroup{ // no group has two versions
			Name: gv.Group, Versions: []metav1.GroupVersionForDiscovery{served}, PreferredVersion: served,
		})
	}
	return list
}

func (s *Server) resourcesOf(gv schema.GroupVersion) *metav1.APIResourceList {
	list := &metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String(),
	}
	for _, c := range s.collections {
		r := c.resource
		if r.Kind.GroupVersion() != gv {
			continue
		}
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: r.Plural, Namespaced: r.Namespaced, Kind: r.Kind.Kind,
			Verbs: metav1.Verbs{"create", "delete", "get", "list", "patch", "update", "watch"},
		})
		if r.Status {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: r.Plural + "/status", Namespaced: r.Namespaced, Kind: r.Kind.Kind,
				Verbs: metav1.Verbs{"get", "patch", "update"},
			})
		}
	}
	return list
}
