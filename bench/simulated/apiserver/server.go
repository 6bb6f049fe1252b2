package apiserver

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// Server is an API server in memory. It is an http.Handler; its other methods are for the process that it
// runs in. All may be called from several goroutines.
type Server struct {
	collections []*collection
	byResource  map[schema.GroupVersionResource]*collection
	paths       request.RequestInfoFactory
	fields      *fieldOwners
	audit       *auditLog
	// stop ends the watches.
	stop     chan struct{}
	stopOnce sync.Once

	mu sync.Mutex
	// refused requests, by what they were.
	refused map[string]int
}

// New returns an empty server, which writes an audit log of what is written.
func New(audit io.Writer) (*Server, error) {
	fields, err := newFieldOwners()
	if err != nil {
		return nil, err
	}
	s := &Server{
		byResource: map[schema.GroupVersionResource]*collection{}, fields: fields, audit: &auditLog{to: audit},
		paths: request.RequestInfoFactory{
			APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
		},
		stop: make(chan struct{}), refused: map[string]int{},
	}
	clock := &atomic.Uint64{}
	clock.Store(1) // 0 has a meaning of its own
	for _, r := range resources() {
		c := newCollection(r, clock)
		s.collections = append(s.collections, c)
		s.byResource[r.GVR()] = c
	}
	return s, nil
}

// Stop ends all watches, which an HTTP server that shuts down waits for.
func (s *Server) Stop() { s.stopOnce.Do(func() { close(s.stop) }) }

// call is a request for objects of a resource.
type call struct {
	*request.RequestInfo
	request    *http.Request
	collection *collection
	// agent is the first part of the client's user agent.
	agent string
	// format of the answer.
	format format
}

func (c call) key() key { return key{c.Namespace, c.Name} }

// errUnknown is what the server does not know how to do.
type errUnknown struct{ what string }

func (e errUnknown) Error() string { return "the simulated API server does not know " + e.what }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && s.discover(w, r) {
		return
	}
	c, err := s.callOf(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if c.Verb == "watch" {
		err = s.watch(w, c)
	} else {
		err = s.answer(w, c)
	}
	if err != nil {
		s.fail(w, r, err)
	}
}

// callOf finds out what a request is about.
func (s *Server) callOf(r *http.Request) (call, error) {
	info, err := s.paths.NewRequestInfo(r)
	if err != nil {
		return call{}, apierrors.NewBadRequest(err.Error())
	}
	c := call{RequestInfo: info, request: r}
	c.agent, _, _ = strings.Cut(r.UserAgent(), "/")
	gvr := schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}
	if c.collection = s.byResource[gvr]; !info.IsResourceRequest || c.collection == nil {
		return c, errUnknown{r.URL.Path}
	}
	if info.Resource == "namespaces" {
		c.Namespace = "" // a path that names one is taken for one within it
	}
	if sub := info.Subresource; sub != "" && (sub != "status" || !c.collection.resource.Status) {
		return c, errUnknown{"subresource " + info.Resource + "/" + sub}
	}
	if c.format, err = c.collection.resource.accepted(r); err != nil {
		return c, errUnknown{err.Error()}
	}
	return c, nil
}

// answer a request that is no watch.
func (s *Server) answer(w http.ResponseWriter, c call) error {
	code := http.StatusOK
	var answer []byte
	var err error
	switch c.Verb {
	case "get":
		answer, err = s.get(c)
	case "list":
		answer, err = s.list(c)
	case "create":
		code = http.StatusCreated
		answer, err = s.create(c)
	case "update", "patch":
		answer, err = s.change(c)
	case "delete":
		answer, err = s.delete(c)
	default:
		err = errUnknown{"the verb " + c.Verb}
	}
	if slices.Contains([]string{"create", "update", "patch", "delete"}, c.Verb) {
		s.audit.write(c.agent, c.Verb, c.collection.resource, c.Subresource)
	}
	if err != nil {
		return err
	}
	write(w, code, mediaTypes[c.format], answer)
	return nil
}

// fail answers with an error, and remembers what it did not know.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		status := known.Status()
		status.TypeMeta = statusType
		writeJSON(w, int(status.Code), &status)
		return
	}
	code := http.StatusInternalServerError
	if errors.As(err, &errUnknown{}) {
		code = http.StatusNotImplemented
	}
	s.mu.Lock()
	s.refused[fmt.Sprintf("%s %s of %s: %v", r.Method, r.URL.Path, r.UserAgent(), err)]++
	s.mu.Unlock()
	writeJSON(w, code, &metav1.Status{
		TypeMeta: statusType, Status: metav1.StatusFailure, Code: int32(code), Message: err.Error(),
	})
}

// Err is an error where the server was asked for something that it does not know, or failed: one of these,
// and how many there were.
func (s *Server) Err() error {
	if err := s.audit.err(); err != nil {
		return fmt.Errorf("writing the audit log: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Sorted(maps.Keys(s.refused))
	if len(all) == 0 {
		return nil
	}
	n := 0
	for _, times := range s.refused {
		n += times
	}
	return fmt.Errorf("%d requests were not understood, one of them %s", n, all[0])
}
