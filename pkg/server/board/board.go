package board

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/utils/clock"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/clusterview"
	"mlplatform.example.com/trainingjob-operator/pkg/server/live"
	"mlplatform.example.com/trainingjob-operator/pkg/server/placement"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/server/rest"
)

// Root of all paths.
const Root = "/board/"

// Jobs are read with the rights of the context's caller, as by *rest.Server.
type Jobs interface {
	Clusters(ctx context.Context) ([]rest.ClusterStatus, error)
	VisibleJobs(ctx context.Context, cluster, namespace string) ([]*v1alpha1.TrainingJob, error)
	VisibleNamespaces(ctx context.Context, cluster string) ([]string, error)
	GetJob(ctx context.Context, in *rest.GetInput) (*rest.JobOutput, error)
	May(ctx context.Context, cluster string, do authorizationv1.ResourceAttributes) (bool, error)
	Records
}

// Reports are read with the rights of the context's caller, as by *rest.Server.
type Reports interface {
	Queues(ctx context.Context, in *rest.QueuesInput) (*rest.QueuesOutput, error)
	HistoryJobs(ctx context.Context, in *rest.HistoryInput) (*rest.HistoryJobsOutput, error)
	Accounting(ctx context.Context, in *rest.AccountingInput) (*rest.Accounting, error)
	// AccountingCSV sets in's period if it is empty.
	AccountingCSV(ctx context.Context, in *rest.AccountingInput) ([]byte, error)
}

// Changes are made with the rights of the context's caller, as by *rest.Server.
type Changes interface {
	CreateJob(ctx context.Context, in *rest.CreateInput) (*rest.CreateOutput, error)
	ActOnJob(ctx context.Context, action rest.Action, in *rest.ActionInput) (*rest.JobOutput, error)
	DeleteJob(ctx context.Context, in *rest.DeleteInput) (*rest.DeleteOutput, error)
}

// Placement has the nodes of ranks, as *placement.Clusters. It checks no rights: placement.Of selects what a
// reader may see.
type Placement interface {
	Snapshot(cluster string) (*placement.Snapshot, error)
	// Follow the ranks of a job by name until closeIt is called.
	Follow(cluster, namespace, name string) (changes <-chan struct{}, closeIt func(), err error)
}

// Live notifies of changed jobs, as *rest.Server. It only wakes pages up: their content comes from Jobs.
type Live interface {
	// Follow the jobs of a cluster until closeIt is called. The channel is closed if its reader lags too far
	// behind.
	Follow(cluster string, filter live.Filter) (changes <-chan live.Event, closeIt func(), err error)
}

// User of a page, shown on it.
type User struct {
	// Name of the user; empty shows none.
	Name string
	// Logout is the path that ends the session by POST, or empty.
	Logout string
}

// Options of a Board.
type Options struct {
	// Jobs, Reports, Changes, Placement and Live are required.
	Jobs      Jobs
	Reports   Reports
	Changes   Changes
	Placement Placement
	Live      Live
	// User of a request. Default: none is shown.
	User func(*http.Request) User
	// CSRF returns the token that the forms of the request's caller send as CSRFField. The authentication
	// verifies it for requests with a cookie. Default: none.
	CSRF func(*http.Request) string
	// BeginStream is called before a stream begins; its error becomes the answer. Default: no limit.
	BeginStream func(context.Context) error
	// BeginDecoding is called before a document with this number of nodes is decoded, and leave after it. Its
	// error becomes the answer. Default: no limit.
	BeginDecoding func(ctx context.Context, nodes int) (leave func(), err error)
	// UserKeys are the annotations and labels that name the user of a job.
	UserKeys []string
	// GPU is the resource of the field GPUs in the form for new jobs. Without one the form has no such field.
	GPU string
	// Log of server errors.
	Log logr.Logger
	// Registry of the metrics. Default: none.
	Registry prometheus.Registerer
	// Clock. Default: the system's.
	Clock clock.WithTicker
	// Interval is the minimum time between two updates of a page; some pages have a longer one. Default: 1 s.
	Interval time.Duration
	// Recheck is the interval at which a page is rendered without a change of jobs, to check rights and other
	// sources. Default: 5 s.
	Recheck time.Duration
	// Heartbeat is the time between comments on an idle stream. Default: 15 s.
	Heartbeat time.Duration
	// LongestStream is the maximum duration of a stream; the browser then authenticates again. Default: 1 h.
	LongestStream time.Duration
}

// CSRFField is the field of a form with the token, as in session.CSRFField.
const CSRFField = "csrf"

// Board serves pages. Its methods are safe for concurrent use.
type Board struct {
	Options
	mux     *http.ServeMux
	methods map[string][]string
	// drawn are the sections of job pages, drawnRanks their ranks.
	drawn, drawnRanks drawn
	rows              *rows
	tiles             *clusterview.Tiles
	// followed counts the ranks whose logs callers follow together.
	followed followed
	static   *static
	metrics  *metrics
}

// New returns a Board. Its Handler expects the caller in the request's context.
func New(o Options) (*Board, error) {
	if o.Jobs == nil || o.Reports == nil || o.Changes == nil || o.Placement == nil || o.Live == nil {
		return nil, errors.New("Jobs, Reports, Changes, Placement and Live are required")
	}
	files, err := newStatic()
	if err != nil {
		return nil, err
	}
	b := &Board{
		Options: o, mux: http.NewServeMux(), methods: map[string][]string{}, rows: newRows(),
		tiles: &clusterview.Tiles{}, static: files, metrics: newMetrics(),
	}
	b.complete()
	if err := b.metrics.register(b.Registry); err != nil {
		return nil, err
	}
	b.routes()
	return b, nil
}

func (b *Board) complete() {
	if b.User == nil {
		b.User = func(*http.Request) User { return User{} }
	}
	if b.CSRF == nil {
		b.CSRF = func(*http.Request) string { return "" }
	}
	if b.BeginStream == nil {
		b.BeginStream = func(context.Context) error { return nil }
	}
	if b.BeginDecoding == nil {
		b.BeginDecoding = func(context.Context, int) (func(), error) { return func() {}, nil }
	}
	if b.Registry == nil {
		b.Registry = prometheus.NewRegistry()
	}
	if b.Clock == nil {
		b.Clock = clock.RealClock{}
	}
	for _, d := range []struct {
		of      *time.Duration
		standby time.Duration
	}{
		{&b.Interval, time.Second}, {&b.Recheck, 5 * time.Second}, {&b.Heartbeat, 15 * time.Second},
		{&b.LongestStream, time.Hour},
	} {
		if *d.of == 0 {
			*d.of = d.standby
		}
	}
}

// Paths of the board.
const (
	pathCluster    = Root + "clusters/{cluster}"
	pathJobs       = pathCluster + "/jobs"
	pathQueues     = pathCluster + "/queues"
	pathAccounting = pathCluster + "/accounting"
	pathCSV        = pathCluster + "/accounting.csv"
	pathHistory    = pathCluster + "/history"
	pathRecord     = pathHistory + "/{uid}"
	pathSubmit     = pathCluster + "/submit"
	pathJob        = pathCluster + "/namespaces/{namespace}/jobs/{name}"
)

func (b *Board) routes() {
	b.handle(http.MethodGet, Root+"{$}", b.home)
	b.page(pathCluster, page{name: "map", render: b.clusterMap, watch: watchCluster})
	b.page(pathJobs, page{name: "jobs", render: b.jobs, watch: watchNamespace})
	b.page(pathQueues, page{name: "queues", render: b.queues, watch: watchCluster, rest: 5 * time.Second})
	b.page(pathAccounting, page{
		name: "accounting", render: b.accounting, watch: watchNamespace, rest: 15 * time.Second,
	})
	b.handle(http.MethodGet, pathCSV, b.accountingCSV)
	b.page(pathHistory, page{name: "history", render: b.history, watch: watchNamespace, rest: 15 * time.Second})
	b.page(pathRecord, page{name: "record", render: b.pastJob, rest: 15 * time.Second})
	b.page(pathJob, page{name: "job", render: b.job, watch: watchJob, ranks: true, gone: b.gone})
	b.page(pathJob+"/logs", page{name: pageLogs, render: b.logs})
	b.handle(http.MethodGet, pathJob+"/logs/stream", b.followLog)
	b.page(pathJob+"/yaml", page{name: "yaml", render: b.yaml, watch: watchJob, gone: b.gone})
	b.handle(http.MethodGet, pathJob+"/manifest.yaml", b.manifest)
	for _, action := range []rest.Action{rest.Suspend, rest.Resume, rest.Restart} {
		b.change(pathJob+"/"+string(action), func(w http.ResponseWriter, r *http.Request) { b.act(w, r, action) })
	}
	b.page(pathJob+"/delete", page{name: "delete", render: b.confirmDelete})
	b.change(pathJob+"/delete", b.delete)
	b.page(pathSubmit, page{name: "submit", render: b.submitPage})
	b.change(pathSubmit, b.submit)
	b.handle(http.MethodGet, b.static.pattern(), b.static.serve)
	b.refuseOthers()
}

// handle requests with a method.
func (b *Board) handle(method, path string, handle http.HandlerFunc) {
	b.methods[path] = append(b.methods[path], method)
	b.mux.HandleFunc(method+" "+path, handle)
}

// change is a route for a form that changes something.
func (b *Board) change(path string, handle http.HandlerFunc) {
	b.handle(http.MethodPost, path, func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			b.fail(w, r, problem.Newf(problem.Malformed, "the form cannot be read: %v", err).
				WithRemedy("go back and send it again"))
			return
		}
		handle(w, r)
	})
}

// refuseOthers answers unknown paths and methods with a page instead of the mux's plain text.
func (b *Board) refuseOthers() {
	for path, methods := range b.methods {
		slices.Sort(methods)
		allow := strings.Join(methods, ", ")
		b.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			b.fail(w, r, problem.Newf(problem.MethodNotAllowed, "the page does not accept %s", r.Method).
				WithRemedy("use one of "+allow).WithHeader("Allow", allow))
		})
	}
	b.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		b.fail(w, r, problem.New(problem.NotFound, "there is no such page", "begin at "+Root))
	})
}

// ServeHTTP implements http.Handler for Root and all paths below.
func (b *Board) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setPolicy(w.Header())
	b.mux.ServeHTTP(w, r)
}

// Open reports whether a path is public: it reveals nothing about clusters.
func Open(path string) bool { return strings.HasPrefix(path, staticRoot) }

// home redirects to the default cluster.
func (b *Board) home(w http.ResponseWriter, r *http.Request) {
	clusters, err := b.Jobs.Clusters(r.Context())
	if err == nil && len(clusters) == 0 {
		err = problem.New(problem.NotFound, "there is no cluster", "ask an admin to configure one")
	}
	if err != nil {
		b.fail(w, r, err)
		return
	}
	http.Redirect(w, r, clusterURL(clusters[0].Name), http.StatusFound)
}
