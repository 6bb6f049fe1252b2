package tfjob

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/tfjobadmin"
)

// Access acts in the clusters as a caller.
type Access interface {
	// Names of the clusters.
	Names() []string
	// As returns a client that acts as the caller. It is only called for clusters of Names.
	As(cluster string, caller identity.Identity) (client.WithWatch, *rest.Config, error)
}

// History has the jobs that the clusters no longer have.
type History interface {
	Job(ctx context.Context, key history.Key) (history.Record, error)
	// JobNamed returns the newest job with a name.
	JobNamed(ctx context.Context, cluster, namespace, name string) (history.Record, error)
	// Ping returns an error if the history cannot be read.
	Ping(ctx context.Context) error
}

// Options of a Handler. All are required.
type Options struct {
	Config  Config
	Access  Access
	History History
	// NotFound is the error of History for an unknown job.
	NotFound error
	// Namespace returns the namespace of a partition, or false if it does not exist or is unknown. Jobs of a
	// former namespace with the name are unknown, too.
	Namespace func(cluster, name string) (history.Namespace, bool)
	// UserKeys are the annotations and labels with a job's user, as in the server's configuration. New jobs
	// get the first as an annotation; by default v1alpha1.AnnotationUser.
	UserKeys []string
	// Version of the server.
	Version string
	// Fail writes an error as problem+json. It is a *problem.Problem, or an error of Access.
	Fail func(w http.ResponseWriter, r *http.Request, err error)
}

// Handler serves the dialect.
type Handler struct {
	Options
	describer tfjobadmin.Describer
}

// New returns a Handler of a valid Config.
func New(o Options) *Handler {
	if len(o.UserKeys) == 0 {
		o.UserKeys = []string{v1alpha1.AnnotationUser}
	}
	return &Handler{o, tfjobadmin.Describer{UserKeys: o.UserKeys, Runtimes: o.Config.runtimes()}}
}

// Paths of the dialect. Its documentation has v1alpha1 and v1alpha2, tfjobs and tfjob, and in the examples of
// single jobs tfservings, which means tfjobs there.
var (
	versions    = []string{"v1alpha1", "v1alpha2"}
	collections = []string{"tfjobs", "tfjob"}
	singles     = []string{"tfjobs", "tfjob", "tfservings"}
)

// Register adds the dialect's routes to a mux. They require the identity of the caller in the request's
// context, except /api/version and /api/ping, which reveal nothing of jobs.
func (h *Handler) Register(mux *http.ServeMux) {
	h.route(mux, "/api/version", map[string]http.HandlerFunc{http.MethodGet: h.version})
	h.route(mux, "/api/ping", map[string]http.HandlerFunc{http.MethodGet: h.ping})
	for _, version := range versions {
		partition := "/api/" + version + "/clusters/{cid}/partitions/{partition}/"
		for _, name := range collections {
			h.route(mux, partition+name, map[string]http.HandlerFunc{
				http.MethodGet: h.serve(h.list), http.MethodPost: h.serve(h.create),
			})
		}
		for _, name := range singles {
			h.route(mux, partition+name+"/{id}", map[string]http.HandlerFunc{
				http.MethodGet: h.serve(h.get), http.MethodPatch: h.serve(h.patch),
				http.MethodDelete: h.serve(h.delete),
			})
		}
	}
}

// route registers the methods of a path. It responds to others with a Problem instead of the mux's plain
// text.
func (h *Handler) route(mux *http.ServeMux, path string, methods map[string]http.HandlerFunc) {
	var names []string
	for method, handler := range methods {
		names = append(names, method)
		mux.HandleFunc(method+" "+path, handler)
	}
	slices.Sort(names)
	allowed := strings.Join(names, ", ")
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allowed)
		h.Fail(w, r, problem.New(problem.MethodNotAllowed,
			"the path does not support "+r.Method,
			"use one of "+allowed))
	})
}

// call is one request for jobs of a partition, with the client of its caller.
type call struct {
	*http.Request
	writer             http.ResponseWriter
	cluster, partition string
	caller             identity.Identity
	client             client.Client
}

// serve responds with the JSON of a function's result.
func (h *Handler) serve(answer func(*call) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		k := &call{Request: r, writer: w, cluster: r.PathValue("cid"), partition: r.PathValue("partition")}
		body, err := h.answer(k, answer)
		if err != nil {
			h.Fail(w, r, err)
			return
		}
		writeJSON(w, http.StatusOK, body)
	}
}
func (h *Handler) answer(k *call, answer func(*call) (any, error)) (any, error) {
	if names := h.Access.Names(); !slices.Contains(names, k.cluster) {
		return nil, problem.New(problem.NotFound,
			fmt.Sprintf("unknown cluster %q", k.cluster),
			"use one of "+strings.Join(names, ", ")).About("path.cid")
	}
	if errs := validation.IsDNS1123Label(k.partition); len(errs) > 0 {
		return nil, problem.New(problem.NotFound,
			fmt.Sprintf("%q cannot be a partition: %s", k.partition, strings.Join(errs, "; ")),
			"use the name of a namespace").About("path.partition")
	}
	caller, known := identity.FromContext(k.Context())
	if !known {
		return nil, problem.New(problem.Unauthenticated,
			"the request has no caller",
			"send a token: Authorization: Bearer <token>").About("header.Authorization")
	}
	as, _, err := h.Access.As(k.cluster, caller)
	if err != nil {
		return nil, err
	}
	k.caller, k.client = caller, as
	return answer(k)
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(body) // the client can have disconnected
}

// version returns the version of the server.
func (h *Handler) version(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, struct {
		Version     string   `json:"version"`
		APIVersions []string `json:"apiVersions"`
	}{h.Version, versions})
}

// ping reports whether the server works.
func (h *Handler) ping(w http.ResponseWriter, r *http.Request) {
	status, body := http.StatusOK, map[string]string{"status": "ok", "history": "ok"}
	if err := h.History.Ping(r.Context()); err != nil {
		status = http.StatusServiceUnavailable
		body = map[string]string{"status": "failing", "history": "unreadable"}
	}
	writeJSON(w, status, body)
}
