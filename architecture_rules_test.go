package architecture

import "slices"

// Packages that several rules name. "/..." stands for a package and everything below it.
const (
	api         = "api/v1alpha1"
	seam        = "scheduler"
	checkpoint  = "pkg/checkpoint"
	frameworks  = "pkg/framework"
	core        = "pkg/trainingjob"
	spec        = core + "/spec"
	validation  = core + "/validation"
	render      = core + "/render"
	observation = core + "/observation"
	decision    = core + "/decision"
	account     = core + "/account"
	status      = core + "/status"
	convert     = "pkg/convert"
	tfjobadmin  = "pkg/tfjobadmin"
	history     = "pkg/history"
	contention  = "pkg/contention"
	liveness    = "pkg/liveness"
	rehearsal   = "pkg/rehearsal"
	trace       = "pkg/rehearsal/trace"
	controller  = "pkg/controller"
	memory      = controller + "/memory"
	meter       = controller + "/meter"
	backends    = controller + "/backends"
	planner     = controller + "/planner"
	forecaster  = controller + "/forecaster"
	write       = controller + "/write"
	board       = "pkg/server/board"
	fragment    = board + "/fragment"
	palette     = board + "/palette"
	parameters  = board + "/parameters"
)

// Imports from elsewhere that would break what a package promises.
var (
	impure = []string{
		"context", "os/...", "net/...", "k8s.io/client-go/...", "sigs.k8s.io/controller-runtime/pkg/manager/...",
		"sigs.k8s.io/controller-runtime/pkg/cache/...",
	}
	// Of controller-runtime the dialects use client.Object; the core has it from scheduler.
	notCore = append(slices.Clone(impure), "sigs.k8s.io/controller-runtime/...")
	// Neither the seam nor a framework has anything to do with time.
	timeless = append(slices.Clone(impure), "time")
	// A page is a function of what it is given; it reads URLs.
	impurePage = slices.DeleteFunc(slices.Clone(notCore), func(p string) bool { return p == "net/..." })
	notSmall   = []string{"k8s.io/...", "sigs.k8s.io/...", "github.com/...", "golang.org/..."}
)

// rule says what a package may import of this module, and what it may never import from elsewhere.
type rule struct {
	reason string
	ours   []string
	never  []string
}

// rules by package. The most exact key counts; a package without a rule fails the test. Test files are
// exempt.
var rules = map[string]rule{
	api:        {reason: "types and vocabulary only"},
	checkpoint: {reason: "the contract of trainer, agent and operator", never: slices.Concat(impure, notSmall)},
	frameworks: {reason: "what each framework's ranks need", never: slices.Concat(notCore, timeless)},
	liveness: {
		reason: "verdicts about beats", ours: []string{api, checkpoint}, never: slices.Concat(impure, notSmall),
	},
	rehearsal: {
		reason: "verdicts about attempts", ours: []string{api, checkpoint}, never: slices.Concat(impure, notSmall),
	},

	"pkg/forecast": {
		reason: "starts and ends of gangs; knows no job", never: slices.Concat(impure, notSmall),
	},

	trace: {
		reason: "what ranks did in a rehearsal; a part of the small binary", ours: []string{checkpoint},
		never: slices.Concat(impure, notSmall),
	},

	seam:                {reason: "knows no TrainingJob, no dialect, no client, no clock", never: timeless},
	"scheduler/volcano": {reason: "one dialect", ours: []string{seam}, never: impure},
	"scheduler/native":  {reason: "one dialect", ours: []string{seam}, never: impure},
	"scheduler/kueue": {
		reason: "one dialect, by the types of its API alone", ours: []string{seam},
		never: append(slices.Clone(impure), "sigs.k8s.io/kueue/pkg/...", "sigs.k8s.io/kueue/cmd/..."),
	},
	"scheduler/coscheduling": {
		reason: "one dialect, by the types of its API alone", ours: []string{seam},
		never: append(slices.Clone(impure),
			"sigs.k8s.io/scheduler-plugins/pkg/...", "sigs.k8s.io/scheduler-plugins/apis/config/..."),
	},
	"scheduler/schedulertest":       {reason: "the contract of a dialect", ours: []string{seam}},
	"scheduler/schedulertest/stubs": {reason: "parts of backends for tests", ours: []string{seam}},

	spec: {
		reason: "interpretation of the spec", ours: []string{api, checkpoint, frameworks, liveness, rehearsal},
		never: notCore,
	},
	validation: {
		reason: "validation", ours: []string{api, checkpoint, frameworks, spec}, never: notCore,
	},
	render: {
		reason: "renders objects", ours: []string{api, checkpoint, frameworks, seam, spec}, never: notCore,
	},
	observation: {
		reason: "the observed state",
		ours:   []string{api, checkpoint, frameworks, liveness, rehearsal, seam, spec, validation, render},
		never:  notCore,
	},
	decision: {
		reason: "the decisions",
		ours:   []string{api, checkpoint, liveness, rehearsal, seam, spec, render, observation}, never: notCore,
	},
	account: {
		reason: "what is counted and carried to the next reconcile",
		ours:   []string{api, liveness, spec, observation, decision}, never: notCore,
	},
	status: {
		reason: "status and messages of a job",
		ours:   []string{api, "pkg/forecast", liveness, rehearsal, seam, spec, observation, decision},
		never:  notCore,
	},
	core: {
		reason: "combines the internal packages",
		ours:   []string{observation, decision, account, status}, never: notCore,
	},
	core + "/internal/jobtest": {reason: "jobs for the core's tests", ours: []string{api}},

	convert: {
		reason: "another system's document to a job",
		ours: []string{
			api, checkpoint, frameworks, "pkg/boundedyaml", "pkg/schedulers", spec, validation, tfjobadmin,
		},
		never: notCore,
	},
	tfjobadmin: {
		reason: "parses documents of TFJob-admin", ours: []string{api, frameworks, spec}, never: notCore,
	},
	"pkg/server/tfjob": {
		reason: "calls in a foreign dialect, as the caller; knows no store",
		ours: []string{
			api, frameworks, history, "pkg/server/identity", "pkg/server/problem", spec, validation,
			tfjobadmin,
		},
	},
	"pkg/explain": {
		reason: "explains what a job does", ours: []string{api, "pkg/forecast", spec},
		never: append(slices.Clone(impure), "sigs.k8s.io/..."),
	},
	"pkg/timeline": {
		reason: "the events of a job, from a status or a record", ours: []string{api, "pkg/history"},
		never: append(slices.Clone(impure), "sigs.k8s.io/..."),
	},
	"pkg/cost": {
		reason: "cost of GPU time; knows no job", never: append(slices.Clone(notSmall), impure...),
	},
	"pkg/server/board/plaintext": {
		reason: "a program's output, as text", never: append(slices.Clone(notSmall), impure...),
	},
	"pkg/server/board/jobview": {
		reason: "pages of a job, as pure functions",
		ours: []string{
			api, history, spec, "pkg/cost", "pkg/explain", "pkg/timeline", fragment, "pkg/server/board/plaintext",
			"pkg/server/placement",
		},
		never: []string{"context", "os/...", "net", "net/http/...", "k8s.io/client-go/...", "sigs.k8s.io/..."},
	},
	"pkg/server/board/logview": {
		reason: "logs of ranks; knows no cluster and no caller",
		ours: []string{
			api, spec, fragment, "pkg/server/board/plaintext", parameters, "pkg/server/events",
			"pkg/server/problem",
		},
		never: []string{"os/...", "k8s.io/client-go/...", "sigs.k8s.io/..."},
	},
	"pkg/queues": {
		reason: "reads every scheduler's queues, by the types of their APIs only",
		ours:   []string{api, "pkg/schedulers", spec}, never: impure,
	},
	"pkg/queuereader": {
		reason: "lists the objects of queues, as its caller", ours: []string{"pkg/queues"},
		never: []string{"os/..."},
	},
	"pkg/allowance": {
		reason: "rate limits; knows no request",
		never:  slices.Concat(impure, []string{"k8s.io/api/...", "sigs.k8s.io/..."}),
	},
	"pkg/boundedyaml": {
		reason: "limits the size of documents; knows no job", never: slices.Concat(impure, []string{"k8s.io/..."}),
	},
	"pkg/panics": {
		reason: "the panic of a step as a value; knows no job",
		never:  slices.Concat(impure, []string{"k8s.io/...", "sigs.k8s.io/..."}),
	},
	"pkg/turn": {
		reason: "the order in which jobs are looked at; knows only their names",
		never:  []string{"k8s.io/api/...", "sigs.k8s.io/controller-runtime/pkg/client", "os/..."},
	},
	"pkg/memorylimit": {reason: "knows a process and its container", never: notSmall},
	"pkg/boundedlistener": {
		reason: "knows connections, not their content", never: []string{"sigs.k8s.io/...", "k8s.io/client-go/..."},
	},
	"pkg/metric": {
		reason: "names of metrics; knows no job and no registry", never: slices.Concat(impure, []string{
			"k8s.io/...", "sigs.k8s.io/...",
		}),
	},
	"pkg/jobmetrics": {
		reason: "a function of the jobs in a cache; knows no reconcile",
		ours:   []string{api, frameworks, "pkg/metric", spec, render, observation},
	},
	"pkg/operatormetrics": {reason: "knows no job", ours: []string{"pkg/metric"}},
	"pkg/clusterstate":    {reason: "knows clusters and gangs, not jobs", ours: []string{seam}},
	"pkg/preemption": {
		reason: "plans preemptions: knows gangs and capacity, no job", ours: []string{seam}, never: notCore,
	},
	"pkg/reservation": {
		reason: "keeps capacity for large gangs: knows gangs and capacity, no job",
		ours:   []string{seam, "pkg/preemption"}, never: notCore,
	},
	contention: {
		reason: "the planner's plans for jobs",
		ours: []string{
			api, seam, frameworks, "pkg/panics", "pkg/preemption", "pkg/reservation", spec, render, observation,
		}, never: notCore,
	},
	controller: {
		reason: "the shell knows no dialect",
		ours: []string{
			api, liveness, seam, "pkg/clusterstate", "pkg/metric", core, spec, render, observation, decision,
			contention, "pkg/panics", "pkg/preemption", "pkg/turn", memory, meter, backends, planner,
			forecaster, write,
		},
	},
	memory: {
		reason: "what one reconcile leaves to the next",
		ours:   []string{api, checkpoint, seam, core, observation, render},
	},
	meter: {
		reason: "counts what the shell reports",
		ours:   []string{api, "pkg/forecast", "pkg/metric", spec, observation, decision, contention, memory},
	},
	backends: {
		reason: "knows schedulers and the cluster; decides nothing",
		ours:   []string{api, seam, spec, "pkg/clusterstate", "pkg/turn", memory},
	},
	forecaster: {
		reason: "describes jobs to forecast, and keeps its estimates",
		ours: []string{
			api, seam, spec, render, observation, core, contention, "pkg/forecast", "pkg/panics", "pkg/turn", memory,
			meter, backends,
		},
	},
	planner: {
		reason: "describes jobs to contention, and keeps its plans",
		ours: []string{
			api, seam, spec, render, observation, decision, core, contention, "pkg/panics", "pkg/preemption",
			"pkg/reservation", "pkg/turn", memory, meter, backends, forecaster,
		},
	},
	write: {
		reason: "writes what a plan says; decides nothing",
		ours: []string{
			api, seam, core, spec, render, observation, decision, "pkg/panics", memory, meter,
		},
	},
	controller + "/internal/jobtest": {reason: "a job for the controller's tests", ours: []string{api}},
	"pkg/server/recorder": {
		reason: "follows jobs and gives their records to a store; knows no database and no request",
		ours:   []string{api, seam, frameworks, "pkg/history", "pkg/metric", render},
	},
	"pkg/server/config": {
		reason: "the server's file: each package's part is its own",
		ours: []string{
			api, frameworks, "pkg/server/access", "pkg/server/identity", "pkg/server/mlflow", "pkg/server/placement",
			"pkg/server/session", "pkg/server/shield", "pkg/server/tfjob",
		},
	},
	history: {
		reason: "the record of a job, from versions of it",
		ours:   []string{api, "pkg/schedulers", spec}, never: notCore,
	},
	history + "/historytest": {
		reason: "histories of jobs, for tests", ours: []string{api, spec}, never: notCore,
	},
	"pkg/config":     {reason: "the operator's file", ours: []string{api, frameworks, "pkg/schedulers"}},
	"pkg/schedulers": {reason: "a list, as data", ours: []string{api}, never: notCore},
	"pkg/image": {
		reason: "images of any files", never: []string{"os/exec", "k8s.io/...", "sigs.k8s.io/..."},
	},
	"pkg/server/mlflow": {
		reason: "sends the history to a tracking server; knows no request", ours: []string{
			api, history, "pkg/metric", "pkg/server/store", spec,
		},
	},
	"pkg/server/events": {
		reason: "frames server-sent events; knows no page and no job",
		never:  notSmall,
	},
	"pkg/server/problem": {reason: "responses for errors; knows no route and no job"},
	"pkg/server/live":    {reason: "the current jobs; knows no caller", ours: []string{api}},
	"pkg/server/namespaces": {
		reason: "the current namespaces; knows no caller", ours: []string{api, history},
	},
	"pkg/server/placement": {
		reason: "the nodes of ranks; knows no request", ours: []string{api, frameworks, "pkg/queues", spec},
	},
	"pkg/server/rest": {
		reason: "the API over HTTP: it decides nothing, and writes only as its caller",
		ours: []string{
			api, spec, history, "pkg/boundedyaml", "pkg/cost", "pkg/explain", "pkg/timeline",
			"pkg/queuereader", "pkg/queues",
			"pkg/server/access", "pkg/server/events", "pkg/server/identity", "pkg/server/live", "pkg/server/problem",
			"pkg/server/store",
		},
	},
	"pkg/server/store": {reason: "the history in a database", ours: []string{api, history}},
	"pkg/agent": {
		reason: "the agent, a small binary", ours: []string{checkpoint, "pkg/reportclient", trace}, never: notSmall,
	},
	"pkg/reportclient": {reason: "part of a small binary", ours: []string{checkpoint}, never: notSmall},
	"pkg/reportserver": {
		reason: "takes reports; knows no scheduler and no controller",
		ours: []string{
			api, "pkg/allowance", "pkg/boundedlistener", "pkg/forecast", "pkg/metric", "pkg/turn", checkpoint,
			spec, render, observation, decision,
		},
	},
	"pkg/server/identity": {
		reason: "authentication of callers; knows no route and no " +
			"job", ours: []string{"pkg/allowance", "pkg/metric"},
	},
	"pkg/server/session": {
		reason: "sessions of browsers; knows no job and no page but the login page",
		ours:   []string{"pkg/allowance", "pkg/metric", "pkg/server/identity", "pkg/server/store"},
	},
	"pkg/server/access": {
		reason: "the callers' rights in the cluster", ours: []string{api, "pkg/metric", "pkg/server/identity"},
	},
	"pkg/server/shield": {reason: "knows no route and no caller", ours: []string{"pkg/metric"}},
	fragment: {
		reason: "the changed parts of a page; knows no page", never: slices.Concat(timeless, notSmall),
	},
	"pkg/server/board": {
		reason: "pages of the API's data, with their readers' rights; knows no client and no store",
		ours: []string{
			api, frameworks, history, fragment, palette, parameters, board + "/listview", board + "/clusterview",
			board + "/queueview", board + "/accountview", board + "/historyview", board + "/jobview",
			board + "/logview",
			"pkg/boundedyaml", "pkg/metric", "pkg/server/events", "pkg/server/identity", "pkg/server/live",
			"pkg/server/placement", "pkg/server/problem", "pkg/server/rest", spec,
		},
		never: []string{"k8s.io/client-go/...", "sigs.k8s.io/controller-runtime/..."},
	},
	"pkg/server/board/listview": {
		reason: "content of the page of jobs; knows no request",
		ours:   []string{api, "pkg/explain", history, fragment, parameters, "pkg/server/problem", spec},
		never:  []string{"context", "os/...", "net/http", "k8s.io/client-go/...", "sigs.k8s.io/..."},
	},
	fragment + "/fragmenttest": {reason: "the contract of fragments, for tests", ours: []string{fragment}},
	board + "/goldentest": {
		reason: "compares pages, for tests", ours: []string{fragment + "/fragmenttest"},
	},
	parameters: {
		reason: "parses URLs; knows no page", ours: []string{"pkg/server/problem"}, never: impurePage,
	},
	palette: {reason: "colors of gangs; knows no page", never: slices.Concat(timeless, notSmall)},
	board + "/clusterview": {
		reason: "the page of a map", ours: []string{
			api, fragment, palette, "pkg/server/placement", parameters,
		}, never: impurePage,
	},
	board + "/queueview": {
		reason: "the page of queues, from the API",
		ours:   []string{api, fragment, "pkg/queues", parameters}, never: impurePage,
	},
	board + "/historyview": {
		reason: "the list of past jobs, from the API",
		ours:   []string{api, fragment, history, parameters, "pkg/server/problem", "pkg/server/rest"},
		never:  impurePage,
	},
	board + "/accountview": {
		reason: "the page of the accounting, from the API",
		ours: []string{
			fragment, parameters, "pkg/server/problem", "pkg/server/rest", "pkg/server/store",
		}, never: impurePage,
	},

	"cmd/operator": {
		reason: "the only importer of concrete backends",
		ours: []string{
			api, seam, "scheduler/volcano", "scheduler/native", "scheduler/kueue", "scheduler/coscheduling",
			"pkg/boundedlistener", "pkg/config", controller, backends, forecaster, planner, "pkg/jobmetrics",
			"pkg/memorylimit",
			"pkg/operatormetrics",
			"pkg/reportserver", "pkg/reservation", render, observation,
		},
	},
	"cmd/server": {
		reason: "the only importer of everything below pkg/server",
		ours: []string{
			api, frameworks, "pkg/boundedlistener", "pkg/history", "pkg/memorylimit", "pkg/metric", "pkg/queues",
			"pkg/server/...",
		},
	},
	"cmd/kubectl-tj": {
		reason: "a command for users: it knows no controller",
		ours:   []string{api, convert, "pkg/explain", "pkg/timeline", "pkg/queuereader", "pkg/queues", spec},
	},

	"cmd/agent": {reason: "a small binary", ours: []string{"pkg/agent"}, never: notSmall},
	"cmd/crd-postprocess": {
		reason: "a generator: it knows YAML and what ranks are given", ours: []string{frameworks, spec},
	},
	"cmd/docs-gen": {
		reason: "a generator: it imports what it documents",
		ours: []string{
			"pkg/config", meter, "pkg/jobmetrics", "pkg/metric", "pkg/operatormetrics", "pkg/reportserver",
			"pkg/schedulers", "pkg/server/...", "scheduler/volcano", "scheduler/coscheduling",
		},
	},
	"cmd/release": {
		reason: "a build-time program: it builds ours and knows none", ours: []string{"pkg/image"},
	},
	"cmd/bench":        {reason: "a command of the benchmark", ours: []string{"bench/...", "pkg/schedulers"}},
	"cmd/localcluster": {reason: "a command of the laboratory", ours: []string{"lab/...", "pkg/schedulers"}},

	"lab/localcluster/...": {
		reason: "knows clusters, not jobs", ours: []string{"lab/localcluster/...", "pkg/image", "pkg/schedulers"},
	},
	"lab/prometheus": {
		reason: "knows a Prometheus, not what it scrapes", ours: []string{"lab/localcluster/..."},
	},
	"lab/npm":     {reason: "programs of Node.js, for tests", ours: []string{"lab/localcluster/..."}},
	"lab/browser": {reason: "knows a browser, not the pages", ours: []string{"lab/npm"}},
	"lab/oidcprovider": {
		reason: "knows an OpenID provider, not its clients", ours: []string{"lab/localcluster/...", "lab/npm"},
	},
	"lab/simtrainer": {
		reason: "simulates pods; knows the contract and no job",
		ours:   []string{api, checkpoint, "lab/localcluster/...", "pkg/rehearsal/trace", "pkg/reportclient"},
	},
	"lab/mlflow": {
		reason: "knows MLflow's server, not its data", ours: []string{"lab/localcluster/...", "lab/python"},
	},
	"lab/postgres": {
		reason: "knows a PostgreSQL, not its data", ours: []string{"lab/localcluster/..."},
	},
	"lab/debian":  {reason: "filesystems of programs that are not ours"},
	"lab/layouts": {reason: "saves of frameworks, recorded"},
	"lab/layouts/record": {
		reason: "records saves of frameworks", ours: []string{"lab/layouts", "lab/debian", "lab/python"},
	},
	"lab/python": {reason: "packages of frameworks that are not ours", ours: []string{"lab/localcluster/..."}},
	"lab/tools":  {reason: "third-party programs"},
	"lab/demo/...": {
		reason: "drives operator and server through the API and their files",
		ours: []string{
			api, "pkg/config", "pkg/schedulers", "pkg/server/config", "lab/localcluster/...", "lab/demo/...",
		},
	},
	"bench/...": {
		reason: "drives the operator through the API and its file",
		ours:   []string{api, "bench/...", "pkg/config", "pkg/schedulers", "lab/localcluster/..."},
	},
	"bench/situations": {
		reason: "plays jobs whose trainers are simulated",
		ours: []string{
			api, "bench/...", "pkg/config", "pkg/schedulers", "lab/localcluster/...", "lab/simtrainer",
		},
	},
	"bench/history": {
		reason: "queries the server's store", ours: []string{api, history, "pkg/server/store", "lab/postgres"},
	},
	"bench/board": {
		reason: "shows the board what happens in its own process",
		ours: []string{
			api, history, "pkg/explain", "pkg/queues", "pkg/timeline", "pkg/server/identity", "pkg/server/live",
			"pkg/server/placement", "pkg/server/problem", "pkg/server/rest", board, "lab/browser",
		},
	},
	"bench/backfill": {
		reason: "plays reservations in a simulation",
		ours:   []string{"pkg/reservation", "bench/result", "bench/sim", "bench/workload"},
	},
	"bench/forecasts": {
		reason: "plays forecasts in a simulation",
		ours:   []string{"pkg/forecast", "bench/backfill", "bench/result", "bench/sim"},
	},
	"bench/sim": {
		reason: "simulates the planner and the schedulers' orders", never: impure,
		ours: []string{seam, "pkg/forecast", "pkg/preemption", "pkg/reservation", "bench/stats", "bench/workload"},
	},
	"bench/workload":             {reason: "which gangs arrive when, as data", never: impure},
	"bench/simulated/scheduling": {reason: "a scheduler's decisions, without side effects", never: timeless},
	"examples/gotrainer": {
		reason: "an example of training code", ours: []string{checkpoint}, never: notSmall,
	},
	"test/fakescheduler": {reason: "a scheduler of its own", ours: []string{seam}},
	"test/...": {
		reason: "tests from outside", ours: []string{api, "lab/...", "pkg/...", "scheduler/...", "test/..."},
	},
}
