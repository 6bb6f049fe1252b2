package workload

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// testdata opens what the examples name.
func testdata(path string) (io.ReadCloser, error) { return os.Open(filepath.Join("testdata", path)) }

func parseExample(t *testing.T, name string) Workload {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	w, err := Parse(data, name, testdata)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestExample reads every key.
func TestExample(t *testing.T) {
	got := parseExample(t, "example.yaml")
	counts := map[string]int{}
	first := map[string]Gang{}
	for _, g := range got.Gangs {
		group := g.Name[:strings.LastIndex(g.Name, "-")]
		if counts[group]++; counts[group] == 1 {
			first[group] = g
		}
	}
	if diff := cmp.Diff(map[string]int{"backlog": 24, "urgent": 2, "withdrawn": 4, "too-large": 1},
		counts); diff != "" {
		t.Errorf("gangs of each group (-want +got):\n%s", diff)
	}
	want := map[string]Gang{
		"backlog": {Name: "backlog-0000", Ranks: 8, GPUs: 1, Priority: PriorityLow, Train: 20 * time.Second,
			Checkpoint: 5 * time.Second},
		"urgent": {Name: "urgent-0000", Ranks: 16, GPUs: 2, Priority: PriorityHigh, At: 10 * time.Second,
			Train: 5 * time.Second},
		"withdrawn": {Name: "withdrawn-0000", Ranks: 4, GPUs: 1, Priority: PriorityNormal, At: 5 * time.Second,
			DeleteAfter: 3 * time.Second},
		"too-large": {Name: "too-large-0000", Ranks: 17, GPUs: 8, Priority: PriorityNormal, Never: true},
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("the first of each group (-want +got):\n%s", diff)
	}
	if last := got.Gangs[len(got.Gangs)-1]; last.Name != "urgent-0001" || last.At != 25*time.Second {
		t.Errorf("the last gang is %s at %s, want urgent-0001 at 25s", last.Name, last.At)
	}
	got.Gangs = nil
	if diff := cmp.Diff(Workload{
		Name: "two-teams", Nodes: 16, GPUsPerNode: 8, End: EndFinished, Idle: 10 * time.Second,
		Cut:      10 * time.Minute,
		Question: "How long does an urgent gang wait behind a backlog, and what does it cost the others?",
		Failures: []NodeFailure{{At: 15 * time.Second, Node: 3, For: 30 * time.Second}},
	}, got); diff != "" {
		t.Errorf("the rest (-want +got):\n%s", diff)
	}
}

// TestExamplesShowEveryKey that a file may have.
func TestExamplesShowEveryKey(t *testing.T) {
	text := ""
	for _, name := range []string{"example.yaml", "example-trace.yaml", "example-builtin.yaml"} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		text += "\n" + string(data)
	}
	for _, of := range []any{file{}, fileGroup{}, fileFailure{}, fileTrace{}, fileWindow{}, fileBuiltin{}} {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(of)) {
			if key := f.Tag.Get("json"); !strings.Contains(text, "\n"+key+":") && !strings.Contains(text,
				" "+key+":") {
				t.Errorf("no example has %s of %T", key, of)
			}
		}
	}
}

func TestExampleTrace(t *testing.T) {
	from, err := testdata("simple.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	want, err := ReadTrace(from, "simple.csv", TraceOptions{
		Nodes: 4, GPUsPerNode: 8, Compress: 60, Rows: 100, MaxGangs: 50, Seed: 1, Longest: 24 * time.Hour,
		Checkpoint: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, parseExample(t, "example-trace.yaml")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestExampleBuiltin(t *testing.T) {
	want := build(t, "storm-4s", 0.5)
	want.Name = "small-storm"
	if diff := cmp.Diff(want, parseExample(t, "example-builtin.yaml")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestParse: defaults, and the fields next to a trace or a builtin.
func TestParse(t *testing.T) {
	const trace = "trace: {file: simple.csv, compress: 60}\nnodes: 4\ngpusPerNode: 8\n"
	tests := map[string]struct {
		reason, yaml string
		of           func(Workload) any
		want         any
	}{
		"the least": {"missing fields have defaults",
			"name: a\nnodes: 1\ngpusPerNode: 2\ngangs: [{ranks: 1, train: 5s}]\n",
			func(w Workload) any { return w }, Workload{
				Name: "a", Question: "How do the gangs of a fare?", Nodes: 1, GPUsPerNode: 2, End: EndFinished,
				Gangs: []Gang{{
					Name: "group-0-0000", Ranks: 1, GPUs: 1, Priority: PriorityNormal, Train: 5 * time.Second,
				}},
				Cut: 160 * time.Second,
			}},
		"failures in no order": {"they are sorted",
			"name: a\nnodes: 2\ngpusPerNode: 2\ngangs: [{ranks: 1, train: 5s}]\n" +
				"failures: [{at: 9s, node: 1, for: 1s}, {at: 4s, node: 0, for: 1s}]",
			func(w Workload) any { return w.Failures }, []NodeFailure{
				{At: 4 * time.Second, Node: 0, For: time.Second}, {At: 9 * time.Second, Node: 1, For: time.Second},
			}},
		"a trace with more": {"the file's own words win", trace +
			"name: b\nquestion: Why?\nidle: 7s\ncut: 1h\nfailures: [{at: 9s, node: 1, for: 1s}]",
			func(w Workload) any { return []any{w.Name, w.Question, w.Idle, w.Cut, len(w.Failures)} },
			[]any{"b", "Why?", 7 * time.Second, time.Hour, 1}},
		"a trace's bound": {"what is added to a trace raises its cut",
			trace + "failures: [{at: 1h, node: 1, for: 1s}]",
			func(w Workload) any { return w.Cut > time.Hour }, true},
		"a builtin with an idle time": {"which raises its cut", "builtin: {name: burst}\nidle: 1h",
			func(w Workload) any { return []any{w.Idle, w.Cut} }, []any{time.Hour, time.Hour + 440*time.Second}},
		"comments and a mark": {"one document may begin with dashes", "# a\n---\nbuiltin: {name: burst}\n",
			func(w Workload) any { return w.Name }, "burst"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w, err := Parse([]byte(tc.yaml), "a.yaml", testdata)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, tc.of(w)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestParseRefuses names the field and says what to do.
func TestParseRefuses(t *testing.T) {
	const (
		head  = "name: a\nnodes: 2\ngpusPerNode: 8\n"
		gangs = head + "gangs: [{ranks: 1, train: 5s}]\n"
		trace = "nodes: 4\ngpusPerNode: 8\n"
	)
	group := func(keys string) string { return head + "gangs: [{ranks: 1, train: 5s}, {" + keys + "}]\n" }
	tests := map[string]struct{ reason, yaml, want string }{
		"empty": {"nothing says what to play", "",
			"a.yaml: give exactly one of gangs, trace and builtin: there are 0"},
		"two sources":    {"which counts?", gangs + "builtin: {name: burst}", "builtin: there are 2"},
		"no YAML":        {"the line is named", "name: [", "reading a.yaml: yaml: line 1"},
		"an unknown key": {"it is named", gangs + "gpuPerNode: 8", `reading a.yaml: unknown field "gpuPerNode"`},
		"in a group":     {"its path is named", group("rank: 3"), `unknown field "gangs[1].rank"`},
		"another case":   {"keys have one spelling", group("Ranks: 3"), `unknown field "gangs[1].Ranks"`},
		"given twice":    {"which counts?", gangs + "name: b", `key "name" already set`},
		"two documents":  {"the second would be lost", gangs + "---\n" + gangs, "a.yaml: it has a second document"},
		"two after dots": {"the second would be lost", gangs + "...\n" + gangs, "a.yaml: it has a second document"},
		"huge": {"memory has a bound", gangs + strings.Repeat("#\n", maxFile/2),
			"more than 1048576 bytes"},
		"a word for ranks": {"the error names the type", group("ranks: many"),
			"cannot unmarshal string into Go struct field"},
		"no gangs": {"there is nothing to play", head + "gangs: []", "a.yaml: gangs: Required value"},
		"no name": {"reports need one", "nodes: 1\ngpusPerNode: 1\ngangs: [{ranks: 1, train: 5s}]",
			"name: Invalid"},
		"no nodes": {"it is needed", "name: a\ngangs: [{ranks: 1, train: 5s}]",
			"nodes: Invalid value: 0: must be from 1"},
		"no ranks": {"it is needed", group("train: 5s"), "gangs[1].ranks: Invalid value: 0: must be from 1"},
		"no count": {"zero gangs are none", group("ranks: 1, count: 0"), "gangs[1].count: Invalid value: 0"},
		"a huge count": {"memory has a bound", group("ranks: 1, count: 1000000000"),
			"gangs[1].count: Invalid value"},
		"huge together": {"memory has a bound", group("ranks: 1, train: 5s, count: 100000"),
			"a.yaml: gangs: Too many: 100001"},
		"no GPUs": {"a rank has one", group("ranks: 1, gpus: 0"), "gangs[1].gpus: Invalid value: 0"},
		"too large": {"the group is named", group("ranks: 17, train: 5s"),
			"gangs[1].ranks: Invalid value: 17: the cluster"},
		"no unit": {"5 of what?", group("ranks: 1, train: 5"),
			`gangs[1].train: Invalid value: "5": must be a number with a unit`},
		"a list as duration": {"the field is named", group("ranks: 1, at: [5s]"), `gangs[1].at: Invalid value`},
		"before the start": {"a run begins at 0", group("ranks: 1, at: -5s"),
			`gangs[1].at: Invalid value: "-5s": must be from 0s`},
		"never ends": {"the group is named", group("ranks: 1"), "gangs[1].train: Required value"},
		"a bad priority": {"the group is named", group("ranks: 1, train: 5s, priority: urgent"),
			"gangs[1].priority: Unsupported value"},
		"a bad group's name": {"gangs are named so", group("ranks: 1, train: 5s, name: A_b"),
			"gangs[1].name: Invalid value"},
		"a long group's name": {"a number is added", group("ranks: 1, train: 5s, name: " + strings.Repeat("a", 35)),
			"gangs[1].name: Too long: may not be more than 34"},
		"a group's name twice": {"gangs are named so", group("ranks: 1, train: 5s, name: group-0"),
			`gangs[1].name: Duplicate value: "group-0"`},
		"spread after the cut": {"the last would not come",
			group("ranks: 1, train: 5s, count: 10, every: 10s") + "cut: 1m",
			`gangs[1].every: Invalid value: "10s": the last of 10 gangs comes after 1m0s`},
		"spread over months": {"a week is the bound", group("ranks: 1, train: 5s, count: 100000, every: 168h"),
			`gangs[1].every: Invalid value: "168h0m0s": the last of 100000 gangs comes after 168h`},
		"spread over more than int64 holds": {"a product of 2^64 ns is none",
			group("ranks: 1, train: 5s, count: 32769, every: 562949953421312ns"), "gangs[1].every: Invalid value"},
		"a cut of zero":   {"nothing could be played", gangs + "cut: 0s", "cut: Required value"},
		"a bad cut":       {"the field is named", gangs + "cut: soon", `cut: Invalid value: "soon"`},
		"a bad idle time": {"the field is named", gangs + "idle: -1s", `idle: Invalid value: "-1s"`},
		"a bad end":       {"the ends are listed", gangs + "end: Over", `end: Unsupported value: "Over"`},
		"a failure's time": {"the field is named", gangs + "failures: [{at: 5, node: 1, for: 1s}]",
			"failures[0].at: Invalid"},
		"a failure's node": {"the field is named", gangs + "failures: [{at: 5s, node: 2, for: 1s}]",
			"failures[0].node: Invalid"},
		"an unknown builtin": {"the names are listed", "builtin: {name: brust}",
			`builtin.name: Invalid value: "brust": no builtin`},
		"a builtin's scale": {"the error names the bounds", "builtin: {name: burst, scale: 0}",
			"builtin.scale: Invalid value: 0"},
		"a builtin's nodes": {"it has its own", "builtin: {name: burst}\nnodes: 3",
			"nodes: Forbidden: a builtin has its own"},
		"a builtin's cut": {"the field is named", "builtin: {name: burst}\ncut: 5", "cut: Invalid value"},
		"a trace's file": {"it is needed", trace + "trace: {compress: 2}",
			"trace.file: Required value: name a CSV file"},
		"a trace's nodes": {"they are needed", "trace: {file: simple.csv}", "nodes: Invalid value: 0"},
		"a trace's end":   {"jobs finish", trace + "trace: {file: simple.csv}\nend: Placed", "end: Invalid value"},
		"a trace's longest": {"the field is named", trace + "trace: {file: simple.csv, longest: 1d}",
			"trace.longest: Invalid value"},
		"a trace's factor": {"the file is named", trace + "trace: {file: simple.csv, compress: -1}",
			"a.yaml: playing simple.csv: the compression"},
		"a trace's line": {"file and line are named", trace + "trace: {file: example.yaml}",
			"a.yaml: example.yaml:5: job: "},
		"a trace's failure": {"the field is named", trace + "trace: {file: simple.csv}\nfailures: [{node: 9}]",
			"failures[0].node"},
		"a trace's last word": {"the cut is before the last gang", trace + "trace: {file: simple.csv}\ncut: 1m",
			"is after the cut"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(tc.yaml), "a.yaml", testdata)
			wantError(t, tc.reason, err, tc.want)
		})
	}
}

// TestParseOpens the trace by the path that the file gives, and closes it.
func TestParseOpens(t *testing.T) {
	const yaml = "nodes: 4\ngpusPerNode: 8\ntrace: {file: ../a b.csv}"
	_, err := Parse([]byte(yaml), "a.yaml", nil)
	wantError(t, "nothing can be opened", err, "trace.file: Forbidden: no files can be opened here")
	_, err = Parse([]byte(yaml), "a.yaml", func(string) (io.ReadCloser, error) { return nil, fs.ErrNotExist })
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("want not exist, got %v", err)
	}
	file := &closer{Reader: strings.NewReader(header + "a,1,5,9,low\n")}
	w, err := Parse([]byte(yaml), "a.yaml", func(path string) (io.ReadCloser, error) {
		file.path = path
		return file, nil
	})
	if err != nil || w.Name != "a-b" || file.path != "../a b.csv" || file.closed != 1 {
		t.Errorf("got %s, %v from %q, closed %d times", w.Name, err, file.path, file.closed)
	}
}

// closer counts.
type closer struct {
	io.Reader
	path   string
	closed int
}

func (c *closer) Close() error {
	c.closed++
	return nil
}
