package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// kinds that the API server of the tests serves, by group and version, with their resources.
var kinds = map[string]map[string]string{
	"v1":                              {"resourcequotas": "ResourceQuota"},
	"scheduling.k8s.io/v1":            {"priorityclasses": "PriorityClass"},
	"mlplatform.example.com/v1alpha1": {"trainingjobs": "TrainingJob"},
	"trainer.kubeflow.org/v1alpha1":   {"trainjobs": "TrainJob"},
	"scheduling.volcano.sh/v1beta1":   {"queues": "Queue"},
	"scheduling.x-k8s.io/v1alpha1":    {"elasticquotas": "ElasticQuota"},
	"kueue.x-k8s.io/v1beta2": {
		"clusterqueues": "ClusterQueue", "localqueues": "LocalQueue",
		"workloadpriorityclasses": "WorkloadPriorityClass",
	},
}

// apiServer answers as Kubernetes does. Commands can create and delete objects.
type apiServer struct {
	*httptest.Server
	t *testing.T
	// without are groups that it does not serve.
	without []string
	// forbids a verb on a resource; the namespace is empty for all.
	forbids func(verb, resource, namespace string) bool

	mu      sync.Mutex
	objects []*unstructured.Unstructured
	// watches are the events of one watch after another; later watches get none until the client leaves.
	watches [][]any
	// watched are the queries of the watches.
	watched []string
	// writes are the verbs and names of the changes.
	writes []string
}

// serve the objects of files below testdata.
func serve(t *testing.T, files ...string) *apiServer {
	t.Helper()
	s := &apiServer{t: t, forbids: func(string, string, string) bool { return false }}
	for _, file := range files {
		f, err := os.Open(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for d := yaml.NewYAMLOrJSONDecoder(f, 4096); ; {
			o := &unstructured.Unstructured{}
			if err := d.Decode(o); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			s.objects = append(s.objects, o)
		}
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// args of a command with this server as the cluster.
func (s *apiServer) args(args ...string) []string {
	path := filepath.Join(s.t.TempDir(), "kubeconfig")
	config := "{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: s, cluster: {server: " +
		s.URL + "}}], contexts: [{name: c, context: {cluster: s, user: u, namespace: team-a}}], " +
		"users: [{name: u, user: {}}]}"
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return append(args, "--kubeconfig", path)
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/api":
		answer(w, http.StatusOK, metav1.APIVersions{
			TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"},
		})
	case r.URL.Path == "/apis":
		answer(w, http.StatusOK, s.groups())
	case path[0] == "api" && len(path) >= 2:
		s.resource(w, r, path[1], path[2:])
	case path[0] == "apis" && len(path) >= 3 && !slices.Contains(s.without, path[1]):
		s.resource(w, r, path[1]+"/"+path[2], path[3:])
	default:
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the resource")
	}
}

func (s *apiServer) groups() metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for groupVersion := range kinds {
		group, version, has := strings.Cut(groupVersion, "/")
		if !has || slices.Contains(s.without, group) {
			continue
		}
		v := metav1.GroupVersionForDiscovery{GroupVersion: groupVersion, Version: version}
		list.Groups = append(list.Groups, metav1.APIGroup{
			Name: group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v,
		})
	}
	return list
}

// resource answers discovery, get, list and watch below a group and version.
func (s *apiServer) resource(w http.ResponseWriter, r *http.Request, groupVersion string, path []string) {
	if len(path) == 0 {
		answer(w, http.StatusOK, resources(groupVersion))
		return
	}
	namespace := ""
	if path[0] == "namespaces" && len(path) > 2 {
		namespace, path = path[1], path[2:]
	}
	verb := "list"
	switch {
	case r.Method == http.MethodPost:
		verb = "create"
	case r.Method == http.MethodDelete:
		verb = "delete"
	case len(path) > 1:
		verb = "get"
	case r.URL.Query().Get("watch") != "":
		verb = "watch"
	}
	if s.forbids(verb, path[0], namespace) {
		refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden,
			fmt.Sprintf("%s is forbidden: User \"bob\" cannot %s resource %q", path[0], verb, path[0]))
		return
	}
	switch verb {
	case "get":
		s.get(w, groupVersion, path[0], namespace, path[1])
	case "watch":
		s.watch(w, r)
	case "create":
		s.create(w, r)
	case "delete":
		s.remove(w, r, groupVersion, path[0], namespace, path[1])
	default:
		s.list(w, r, groupVersion, path[0], namespace)
	}
}

func resources(groupVersion string) metav1.APIResourceList {
	list := metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: groupVersion,
	}
	cluster := []string{"queues", "clusterqueues", "priorityclasses", "workloadpriorityclasses"}
	for resource, kind := range kinds[groupVersion] {
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: resource, Kind: kind, Namespaced: !slices.Contains(cluster, resource),
			Verbs: metav1.Verbs{"get", "list", "watch"},
		})
	}
	return list
}

func (s *apiServer) of(groupVersion, resource, namespace string) []*unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*unstructured.Unstructured
	for _, o := range s.objects {
		if o.GetAPIVersion() == groupVersion && o.GetKind() == kinds[groupVersion][resource] &&
			(namespace == "" || o.GetNamespace() == namespace) {
			found = append(found, o)
		}
	}
	return found
}

func (s *apiServer) get(w http.ResponseWriter, groupVersion, resource, namespace, name string) {
	for _, o := range s.of(groupVersion, resource, namespace) {
		if o.GetName() == name {
			answer(w, http.StatusOK, o.Object)
			return
		}
	}
	group, _, _ := strings.Cut(groupVersion, "/")
	refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound,
		fmt.Sprintf("%s.%s %q not found", resource, group, name))
}

// create an object, unless its name is taken.
func (s *apiServer) create(w http.ResponseWriter, r *http.Request) {
	o := &unstructured.Unstructured{}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = o.UnmarshalJSON(body)
	}
	if err != nil || r.URL.Query().Get("fieldValidation") != metav1.FieldValidationStrict {
		s.t.Errorf("creating %s: %v", r.URL, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, other := range s.objects {
		if other.GetName() == o.GetName() && other.GetNamespace() == o.GetNamespace() {
			refuse(w, http.StatusConflict, metav1.StatusReasonAlreadyExists,
				fmt.Sprintf("trainingjobs %q already exists", o.GetName()))
			return
		}
	}
	o.SetResourceVersion("20")
	o.SetUID("created")
	o.SetCreationTimestamp(metav1.NewTime(noon))
	s.objects, s.writes = append(s.objects, o), append(s.writes, "create "+o.GetName())
	answer(w, http.StatusCreated, o.Object)
}

// remove an object, if it is the one that the client has read.
func (s *apiServer) remove(
	w http.ResponseWriter, r *http.Request, groupVersion, resource, namespace, name string,
) {
	var options metav1.DeleteOptions
	if err := json.NewDecoder(r.Body).Decode(&options); err != nil {
		s.t.Error(err)
	}
	found := s.of(groupVersion, resource, namespace)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range found {
		if p := options.Preconditions; o.GetName() == name && p != nil && *p.UID == o.GetUID() {
			other := func(one *unstructured.Unstructured) bool { return one == o }
			s.objects = slices.DeleteFunc(s.objects, other)
			s.writes = append(s.writes, fmt.Sprintf("delete %s %s", name, *options.PropagationPolicy))
			answer(w, http.StatusOK, metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess,
			})
			return
		}
	}
	s.t.Errorf("deleting %s with %+v", name, options.Preconditions)
	refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, name+" not found")
}

func (s *apiServer) list(w http.ResponseWriter, r *http.Request, groupVersion, resource, namespace string) {
	kind, version := kinds[groupVersion][resource]+"List", groupVersion
	items := []any{}
	partial := strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList")
	for _, o := range s.of(groupVersion, resource, namespace) {
		item := o.Object
		if partial {
			item = map[string]any{
				"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": item["metadata"],
			}
		}
		items = append(items, item)
	}
	if partial {
		kind, version = "PartialObjectMetadataList", "meta.k8s.io/v1"
	}
	answer(w, http.StatusOK, map[string]any{
		"kind": kind, "apiVersion": version, "metadata": map[string]any{"resourceVersion": "10"}, "items": items,
	})
}

// watch answers with the next of the watches. An event can be a function that is called instead.
func (s *apiServer) watch(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	query := r.URL.Query()
	s.watched = append(s.watched, query.Get("fieldSelector")+" from "+query.Get("resourceVersion"))
	var events []any
	open := len(s.watches) == 0
	if !open {
		events, s.watches = s.watches[0], s.watches[1:]
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	for _, event := range events {
		if call, is := event.(func()); is {
			call()
			continue
		}
		if err := json.NewEncoder(w).Encode(event); err != nil {
			s.t.Error(err)
		}
	}
	_ = http.NewResponseController(w).Flush() // of a client that has left
	if open {
		<-r.Context().Done()
	}
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // to a client that has left
}

func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	answer(w, code, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: reason, Message: message,
	})
}
