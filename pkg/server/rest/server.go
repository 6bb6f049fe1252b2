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

// Access to the clusters as a caller; *access.Clusters has it.
type Access interface {
	// Names of the clusters; the first is the default.
	Names() []string
	// As acts as the caller.
	As(cluster string, id identity.Identity) (client.WithWatch, *rest.Config, error)
	// May reports whether the caller may do something.
	May(ctx context.Context, cluster string, id identity.Identity, do authorizationv1.ResourceAttributes) (
		bool, error)
	// Visible reports whether the caller may use a verb on the TrainingJobs of all namespaces, or else in which
	// of those that are given.
	Visible(ctx context.Context, cluster string, id identity.Identity, verb string, namespaces []string) (
		all bool, visible []string, err error)
}

// Live knows the jobs that exist.
type Live interface {
	View(cluster string) (live.View, error)
	Subscribe(cluster string, filter live.Filter, after string) (*live.Subscription, error)
	Synced(cluster string) bool
}

// History knows the jobs that have existed.
type History interface {
	Job(ctx context.Context, key history.Key) (history.Record, error)
	Jobs(ctx context.Context, q store.JobsQuery) (store.JobsPage, error)
	Samples(ctx context.Context, key history.Key, q store.SamplesQuery) ([]history.Sample, error)
	Accounting(ctx context.Context, q store.AccountingQuery) ([]store.Usage, error)
}

// Options of a Server. All are needed but those that say otherwise.
type Options struct {
	// Version of the server, as the document has it.
	Version string
	Access  Access
	Live    Live
	History History
	// RecordOf returns what a version of a cluster's job says, as it is recorded. By default nothing is known of
	// its kind of GPU and its user.
	RecordOf func(cluster string, job *v1alpha1.TrainingJob) history.Record
	// Prices of one GPU of a kind for an hour. The cost of other kinds is unknown.
	Prices map[string]*big.Rat
	// Currency of the prices.
	Currency string
	// Log of what has failed without the client's doing.
	Log logr.Logger
	// Clock by default is the machine's.
	Clock clock.WithTicker
	// Heartbeat is the time between comments on an idle stream of events. Default: 15 s.
	Heartbeat time.Duration
	// Recheck is how often it is asked again whether who reads a stream still may. Default: 30 s.
	Recheck time.Duration
	// LongestStream is when a stream ends, so that its reader authenticates anew. Default: 1 h.
	LongestStream time.Duration
	// BeginStream is called before a stream begins, and its error is the answer instead. By default any may.
	BeginStream func(context.Context) error
	// BeginDecoding is called before a document of some nodes is decoded, and leave when it is no longer needed.
	// The error is the answer instead. By default any document is decoded at once.
	BeginDecoding func(ctx context.Context, nodes int) (leave func(), err error)
	// WriteTimeout is how long a stream waits for its reader to take what was written. Default: 20 s.
	WriteTimeout time.Duration
}

// Server serves the API.
type Server struct {
	Options
	api      huma.API
	document []byte
	methods  map[string][]string
}

// New makes a Server whose routes are on a mux: /api/v1 and everything below. They expect the caller in the
// request's context (identity.Middleware), but for /api/v1/openapi.json, which tells nothing of any cluster.
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

// serveDocument serves the contract.
func (s *Server) serveDocument(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/vnd.oai.openapi+json;version=3.1")
	_, _ = w.Write(s.document) // to a client that may be gone
}

// refuseOthers answers paths and methods that do not exist by a Problem, where the mux has plain text.
func (s *Server) refuseOthers(mux *http.ServeMux) {
	for path, methods := range s.methods {
		slices.Sort(methods)
		allow := strings.Join(methods, ", ")
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			problem.Write(w, r, problem.Newf(problem.MethodNotAllowed, "the path does not take %s", r.Method).
				WithRemedy("use one of "+allow).WithHeader("Allow", allow))
		})
	}
	nothing := func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, r, problem.New(problem.NotFound, "there is no such path",
			"see /api/v1/openapi.json for those that there are"))
	}
	mux.HandleFunc("/api/v1/", nothing)
	mux.HandleFunc("/api/v1", nothing)
}

// register an operation. Whatever error its handler returns becomes a Problem.
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

// fail makes a Problem, and logs what the client is not told.
func (s *Server) fail(ctx context.Context, operation string, err error) error {
	p := problem.Of(err)
	if cause := p.Cause(); cause != nil && ctx.Err() == nil {
		s.Log.Error(cause, "A request has failed", "operation", operation, "status", p.Status)
	}
	return p
}
