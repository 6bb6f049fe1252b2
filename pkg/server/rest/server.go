package rest

import (
	"context"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/pkg/server/live"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

// Access acts in the clusters as a caller; see *access.Clusters.
type Access interface {
	// Names of the clusters; the first is the default.
	Names() []string
	// As acts as the caller.
	As(cluster string, id identity.Identity) (client.WithWatch, *rest.Config, error)
	// May reports whether the caller has a right.
	May(ctx context.Context, cluster string, id identity.Identity, do authorizationv1.ResourceAttributes) (
		bool, error)
	// Visible reports whether the caller may use a verb on the TrainingJobs of all namespaces, or else in
	// which of the given ones.
	Visible(ctx context.Context, cluster string, id identity.Identity, verb string, namespaces []string) (
		all bool, visible []string, err error)
}

// Live has the jobs that exist.
type Live interface {
	View(cluster string) (live.View, error)
	Subscribe(cluster string, filter live.Filter, after string) (*live.Subscription, error)
	Synced(cluster string) bool
}

// History has current and past jobs.
type History interface {
	Job(ctx context.Context, key history.Key) (history.Record, error)
	Jobs(ctx context.Context, q store.JobsQuery) (store.JobsPage, error)
	Samples(ctx context.Context, key history.Key, q store.SamplesQuery) ([]history.Sample, error)
	Accounting(ctx context.Context, q store.AccountingQuery) ([]store.Usage, error)
}

// Namespaces of the clusters; see *namespaces.Clusters.
type Namespaces interface {
	// Known reports whether the namespaces of a cluster have been listed.
	Known(cluster string) bool
	// Get returns a namespace, or false if it does not exist.
	Get(cluster, name string) (history.Namespace, bool)
}

// Options of a Server. All are required unless noted.
type Options struct {
	// Version of the server, in the document.
	Version string
	Access  Access
	Live    Live
	History History
	// Namespaces distinguish those that had the same name. By default they are not distinguished.
	Namespaces Namespaces
	// RecordOf returns the record of a version of a job. By default GPU kind and user are unknown.
	RecordOf func(cluster string, job *v1alpha1.TrainingJob) history.Record
	// Prices of a GPU-hour by kind. The cost of other kinds is unknown.
	Prices map[string]*big.Rat
	// Currency of the prices.
	Currency string
	// Log of failures that the client did not cause.
	Log logr.Logger
	// Clock defaults to the machine's.
	Clock clock.WithTicker
	// Heartbeat is the time between comments on an idle stream of events. Default: 15 s.
	Heartbeat time.Duration
	// Recheck is how often the rights of a stream's reader are reviewed. Default: 30 s.
	Recheck time.Duration
	// LongestStream is the time limit of a stream, after which its reader authenticates again. Default: 1 h.
	LongestStream time.Duration
	// BeginStream is called before a stream begins. The stream fails with its error. Default: no limit.
	BeginStream func(context.Context) error
	// BeginDecoding is called before a document with the given nodes is decoded, and leave afterwards. The
	// request fails with its error. Default: no limit.
	BeginDecoding func(ctx context.Context, nodes int) (leave func(), err error)
	// WriteTimeout is how long a write waits for a stream's reader. Default: 20 s.
	WriteTimeout time.Duration
}

// Server serves the API.
type Server struct {
	Options
	api      huma.API
	document []byte
	methods  map[string][]string
}

// New creates a Server with its routes on a mux: /api/v1 and everything below. They require the caller in the
// request's context (identity.Middleware), except /api/v1/openapi.json, which reveals nothing of a cluster.
func New(mux *http.ServeMux, o Options) (*Server, error) {
	s := &Server{Options: o, methods: map[string][]string{}}
	s.complete()
	s.api = humago.New(mux, configuration(o.Version))
	s.routes()
	document, err := finish(s.api)
	if err != nil {
		return nil, err
	}
	s.document = document
	mux.HandleFunc("GET /api/v1/openapi.json", s.serveDocument)
	s.methods["/api/v1/openapi.json"] = []string{http.MethodGet}
	s.refuseOthers(mux)
	return s, nil
}

func (s *Server) complete() {
	if s.Clock == nil {
		s.Clock = clock.RealClock{}
	}
	if s.RecordOf == nil {
		s.RecordOf = func(cluster string, job *v1alpha1.TrainingJob) history.Record {
			return history.Of(cluster, job, history.Options{})
		}
	}
	if s.Namespaces == nil {
		s.Namespaces = undistinguished{}
	}
	if s.BeginStream == nil {
		s.BeginStream = func(context.Context) error { return nil }
	}
	if s.BeginDecoding == nil {
		s.BeginDecoding = func(context.Context, int) (func(), error) { return func() {}, nil }
	}
	for _, d := range []struct {
		of      *time.Duration
		standby time.Duration
	}{
		{&s.Heartbeat, 15 * time.Second}, {&s.Recheck, 30 * time.Second}, {&s.LongestStream, time.Hour},
		{&s.WriteTimeout, 20 * time.Second},
	} {
		if *d.of == 0 {
			*d.of = d.standby
		}
	}
}

// undistinguished namespaces exist by name only.
type undistinguished struct{}

func (undistinguished) Known(string) bool { return true }
func (undistinguished) Get(_, name string) (history.Namespace, bool) {
	return history.Namespace{Name: name}, true
}

func (s *Server) routes() {
	s.routeClusters()
	s.routeJobs()
	s.routeActions()
	s.routeExplain()
	s.routeLogs()
	s.routeEvents()
	s.routeQueues()
	s.routeHistory()
	s.routeAccounting()
}

// serveDocument serves the OpenAPI document.
func (s *Server) serveDocument(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/vnd.oai.openapi+json;version=3.1")
	_, _ = w.Write(s.document) // the client can have disconnected
}

// refuseOthers responds to unknown paths and methods with a Problem instead of the mux's plain text.
func (s *Server) refuseOthers(mux *http.ServeMux) {
	for path, methods := range s.methods {
		slices.Sort(methods)
		allow := strings.Join(methods, ", ")
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			problem.Write(w, r, problem.Newf(problem.MethodNotAllowed, "the path does not support %s",
				r.Method).
				WithRemedy("use one of "+allow).WithHeader("Allow", allow))
		})
	}
	nothing := func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, r, problem.New(problem.NotFound, "unknown path",
			"see /api/v1/openapi.json for the paths"))
	}
	mux.HandleFunc("/api/v1/", nothing)
	mux.HandleFunc("/api/v1", nothing)
}

// register registers an operation, and converts its handler's errors to Problems.
func register[I, O any](s *Server, op huma.Operation, handle func(context.Context, *I) (*O, error)) {
	s.methods[op.Path] = append(s.methods[op.Path], op.Method)
	document(&op, s.api.OpenAPI().Components.Schemas)
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handle(ctx, in)
		if err != nil {
			return nil, s.fail(ctx, op.OperationID, err)
		}
		return out, nil
	})
}

// fail converts an error to a Problem, and logs its cause.
func (s *Server) fail(ctx context.Context, operation string, err error) error {
	p := problem.Of(err)
	if cause := p.Cause(); cause != nil && ctx.Err() == nil {
		s.Log.Error(cause, "A request has failed", "operation", operation, "status", p.Status)
	}
	return p
}
