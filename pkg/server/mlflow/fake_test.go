package mlflow

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// fake is a server of MLflow's API that keeps MLflow's rules: names are unique, parameters never change, what
// is too long or has no name is refused, and so is everything about a run that was deleted.
type fake struct {
	*httptest.Server
	t testing.TB

	mu          sync.Mutex
	experiments map[string]*experiment // by name
	runs        map[string]*fakeRun
	requests    int
	authorized  []string // the headers
	// fails is asked before a request is carried out, and again behind it: an answer other than 0 is given
	// instead of the one that is due.
	before, after func(call string, n int) int
	// denied are the calls for which the server's user has no right, by experiment.
	denied map[string][]string
}

type fakeRun struct {
	id, experiment, name, status, stage string
	start, end                          int64
	params, tags                        map[string]string
	metrics                             map[measurement]bool
}

func newFake(t testing.TB) *fake {
	never := func(string, int) int { return 0 }
	f := &fake{
		t: t, experiments: map[string]*experiment{}, runs: map[string]*fakeRun{}, before: never, after: never,
	}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

// ServeHTTP answers as MLflow does.
func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests++
	f.authorized = append(f.authorized, r.Header.Get("Authorization"))
	call := strings.TrimPrefix(r.URL.Path, "/api/2.0/mlflow/")
	fail := func(status int) bool {
		if status >= 300 && status < 400 {
			w.Header().Set("Location", "http://other.example.com/")
		}
		if status != 0 {
			w.WriteHeader(status)
		}
		return status != 0
	}
	if fail(f.before(call, f.requests)) {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		f.t.Error(err)
	}
	answer, refused := f.answer(call, r, body)
	if fail(f.after(call, f.requests)) {
		return
	}
	if refused == errDenied {
		http.Error(w, errDenied.message, errDenied.status) // as MLflow's basic-auth app
		return
	}
	if refused != nil {
		w.WriteHeader(refused.status)
		answer = map[string]string{"error_code": refused.code, "message": refused.message}
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		f.t.Error(err)
	}
}

func invalid(message string, args ...any) *rejection {
	return &rejection{status: 400, code: "INVALID_PARAMETER_VALUE", message: fmt.Sprintf(message, args...)}
}

func missing(what string) *rejection {
	return &rejection{404, codeDoesNotExist, what + " does not exist"}
}

var errDenied = &rejection{http.StatusForbidden, "", "Permission denied"}

// denies reports whether the server's user may not do this in the experiment with that ID.
func (f *fake) denies(call, id string) bool {
	for name, e := range f.experiments {
		if e.ID == id {
			return slices.Contains(f.denied[name], call)
		}
	}
	return false
}

// fakeRequest has the fields of all requests.
type fakeRequest struct {
	Name          string        `json:"name"`
	ExperimentID  string        `json:"experiment_id"`
	ExperimentIDs []string      `json:"experiment_ids"`
	Filter        string        `json:"filter"`
	RunID         string        `json:"run_id"`
	RunName       string        `json:"run_name"`
	Status        string        `json:"status"`
	StartTime     int64         `json:"start_time"`
	EndTime       int64         `json:"end_time"`
	Tags          []pair        `json:"tags"`
	Params        []pair        `json:"params"`
	Metrics       []measurement `json:"metrics"`
}

var fakeFilter = regexp.MustCompile(`^tags\."([a-z._]+)" = '([^']*)'$`)

func (f *fake) answer(call string, r *http.Request, body []byte) (any, *rejection) {
	var in fakeRequest
	if r.Method == http.MethodPost {
		if err := json.Unmarshal(body, &in); err != nil {
			return nil, invalid("%v", err)
		}
	} else {
		in.Name, in.RunID = r.URL.Query().Get("experiment_name"), r.URL.Query().Get("run_id")
	}
	switch call {
	case callExperimentByName:
		if e := f.experiments[in.Name]; e != nil {
			if f.denies(call, e.ID) {
				return nil, errDenied
			}
			return map[string]any{"experiment": e}, nil
		}
		return nil, missing("experiment " + in.Name)
	case callCreateExperiment:
		if f.experiments[in.Name] != nil {
			return nil, &rejection{400, codeExists, "experiment " + in.Name}
		}
		e := &experiment{ID: fmt.Sprint(len(f.experiments) + 1), Name: in.Name, Stage: "active"}
		f.experiments[in.Name] = e
		return e, nil
	case callCreateRun:
		if f.denies(call, in.ExperimentID) {
			return nil, errDenied
		}
		return f.createRun(&in)
	case callSearchRuns:
		return f.search(&in)
	}
	run := f.runs[in.RunID]
	if run == nil {
		return nil, missing("run " + in.RunID)
	}
	if f.denies(call, run.experiment) {
		return nil, errDenied
	}
	switch call {
	case callGetRun:
		return map[string]any{"run": run.json()}, nil
	case callDeleteRun:
		run.stage = stageDeleted
		return struct{}{}, nil
	}
	if run.stage != "active" {
		return nil, invalid("the run must be in 'active' state")
	}
	switch call {
	case callUpdateRun:
		run.name, run.status, run.end = in.RunName, in.Status, in.EndTime
		return struct{}{}, nil
	case callLogBatch:
		return struct{}{}, run.log(&in)
	}
	return nil, &rejection{404, "ENDPOINT_NOT_FOUND", call}
}

func (f *fake) createRun(in *fakeRequest) (any, *rejection) {
	known := slices.ContainsFunc(slices.Collect(maps.Values(f.experiments)), func(e *experiment) bool {
		return e.ID == in.ExperimentID && e.Stage == "active"
	})
	if !known {
		return nil, missing("experiment " + in.ExperimentID)
	}
	run := &fakeRun{
		id: fmt.Sprintf("%032x", 1000-len(f.runs)), experiment: in.ExperimentID, name: in.RunName,
		status: "RUNNING", stage: "active", start: in.StartTime,
		params: map[string]string{}, tags: map[string]string{}, metrics: map[measurement]bool{},
	}
	if refused := run.log(&fakeRequest{Tags: in.Tags}); refused != nil {
		return nil, refused
	}
	f.runs[run.id] = run
	return map[string]any{"run": run.json()}, nil
}

func (f *fake) search(in *fakeRequest) (any, *rejection) {
	condition := fakeFilter.FindStringSubmatch(in.Filter)
	if condition == nil {
		return nil, invalid("malformed filter %s", in.Filter)
	}
	var found []any
	for _, id := range slices.Sorted(maps.Keys(f.runs)) {
		run := f.runs[id]
		if slices.Contains(in.ExperimentIDs, run.experiment) && run.stage == "active" &&
			run.tags[condition[1]] == condition[2] {
			found = append(found, run.json())
		}
	}
	return map[string]any{"runs": found}, nil
}

func (r *fakeRun) json() any {
	return map[string]any{"info": map[string]any{"run_id": r.id, "lifecycle_stage": r.stage}}
}

var fakeKey = regexp.MustCompile(`^[\w.\-/ :]+$`)

// log a batch, all of it or nothing.
func (r *fakeRun) log(in *fakeRequest) *rejection {
	if len(in.Params) > maxParameters || len(in.Tags) > 100 || len(in.Metrics) > maxMetrics ||
		len(in.Params)+len(in.Tags)+len(in.Metrics) > 1000 {
		return invalid("too many entries")
	}
	for _, p := range slices.Concat(in.Params, in.Tags) {
		if !fakeKey.MatchString(p.Key) || len(p.Key) > maxKey || len(p.Value) > maxParameter {
			return invalid("invalid entry %q", p.Key)
		}
	}
	for _, p := range in.Params {
		if old, is := r.params[p.Key]; is && old != p.Value {
			return invalid("changing param values is not allowed: %s", p.Key)
		}
	}
	for _, m := range in.Metrics {
		_, number := m.Value.(float64)
		text, _ := m.Value.(string)
		if !number && !slices.Contains([]string{"NaN", "Infinity", "-Infinity"}, text) ||
			!fakeKey.MatchString(m.Key) || len(m.Key) > maxKey || m.Timestamp <= 0 {
			return invalid("invalid metric %q", m.Key)
		}
	}
	for _, p := range in.Params {
		r.params[p.Key] = p.Value
	}
	for _, p := range in.Tags {
		r.tags[p.Key] = p.Value
	}
	for _, m := range in.Metrics {
		r.metrics[m] = true
	}
	return nil
}

// active are the runs that are not deleted, by ID.
func (f *fake) active() []*fakeRun {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []*fakeRun
	for _, id := range slices.Sorted(maps.Keys(f.runs)) {
		if f.runs[id].stage == "active" {
			all = append(all, f.runs[id])
		}
	}
	return all
}

// text is all that a run says, a line for each.
func (r *fakeRun) text() string {
	lines := []string{fmt.Sprintf("%s: %s, %d to %d", r.name, r.status, r.start, r.end)}
	for _, p := range pairs(r.params) {
		lines = append(lines, "parameter "+p.Key+" = "+p.Value)
	}
	for _, p := range pairs(r.tags) {
		lines = append(lines, "tag "+p.Key+" = "+p.Value)
	}
	var metrics []string
	for m := range r.metrics {
		metrics = append(metrics, fmt.Sprintf("metric %s %d at %06d = %v", m.Key, m.Timestamp, m.Step, m.Value))
	}
	slices.Sort(metrics)
	return strings.Join(append(lines, metrics...), "\n") + "\n"
}
