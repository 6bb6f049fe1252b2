package workload

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Bounds of one input: a fuzzer that finds more has found a bug.
const (
	maxInput = 64 << 10
	maxAlloc = 256 << 20        // bytes; a file may ask for MaxGangs gangs
	maxTime  = 60 * time.Second // ends a run that hangs
)

// bounded runs f and fails when it takes too much memory or time.
func bounded(t *testing.T, f func()) {
	t.Helper()
	watchdog := time.AfterFunc(maxTime, func() { panic("it hangs") })
	defer watchdog.Stop()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > maxAlloc {
		t.Fatalf("%d bytes are allocated", used)
	}
}

func addTestdata(f *testing.F, pattern string, add func(data []byte)) {
	f.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		f.Fatalf("%s: %d files, %v", pattern, len(paths), err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		add(data)
	}
}

// FuzzReadTrace: a file is refused or makes a workload that is valid, that accounts for every row, and that
// is the same the next time. An ordinary test run executes the seeds.
func FuzzReadTrace(f *testing.F) {
	add := func(csv string) { f.Add([]byte(csv), 4, 8, 60.0, 0, 0, 0) }
	addTestdata(f, "testdata/*.csv", func(data []byte) { add(string(data)) })
	add(byteOrderMark + strings.ReplaceAll(header, "\n", "\r\n") + "a,1,0,1e3,high\r\n")
	add(header + "a,1,0,1e3,high\na,1,0,1e3,high\nb,1e9,0,1,\nc,1,1e9,1,\n,1,0,1,\n,1,0,1,\n\"d,1,0,1,\n")
	f.Add([]byte(header+"a,1,0,1e3,high\nb,1,0,1,\n"), 1, 1, 1e9, 1, 1, 1)
	f.Fuzz(func(t *testing.T, data []byte, nodes, gpus int, compress float64, first, rows, most int) {
		if len(data) > maxInput {
			return
		}
		o := TraceOptions{
			Nodes: nodes, GPUsPerNode: gpus, Compress: compress, First: first, Rows: rows, MaxGangs: most, Seed: 1,
		}
		var w Workload
		var err error
		bounded(t, func() { w, err = ReadTrace(strings.NewReader(string(data)), "t.csv", o) })
		if err != nil {
			return
		}
		if err := Validate(w); err != nil {
			t.Fatal(err)
		}
		played := len(w.Gangs)
		for _, n := range w.LeftOut {
			played += n
		}
		for reason := range w.FirstLine {
			if w.LeftOut[reason]+w.Changed[reason] == 0 {
				t.Errorf("%s has a first line and no rows", reason)
			}
		}
		if n := rowsOf(string(data)); n != played {
			t.Errorf("%d rows are accounted for, the file has %d", played, n)
		}
		again, err := ReadTrace(strings.NewReader(string(data)), "t.csv", o)
		if diff := cmp.Diff(w, again); diff != "" || err != nil {
			t.Errorf("read twice: %v (-first +second):\n%s", err, diff)
		}
	})
}

// rowsOf a file with a header: lines that say something.
func rowsOf(text string) int {
	rows := -1
	for line := range strings.Lines(strings.TrimPrefix(text, byteOrderMark)) {
		if strings.TrimSpace(line) != "" && line[0] != '#' {
			rows++
		}
	}
	return rows
}

// FuzzParse: a file is refused or makes a workload that is valid, and the same the next time. An ordinary
// test run executes the seeds.
func FuzzParse(f *testing.F) {
	const head = "name: a\nnodes: 1\ngpusPerNode: 1\n"
	addTestdata(f, "testdata/*.yaml", func(data []byte) { f.Add(data) })
	for _, yaml := range []string{
		head + "gangs: &a [{ranks: 1, train: 1s, count: 100000}]\nfailures: *a",
		head + "gangs: [" + strings.Repeat("{ranks: 1, train: 1s, count: 100000},", 15) + "]",
		head + "gangs: [{ranks: 1, at: 1, every: 2562047h, count: 3}]\n",
		"trace: {file: a, window: {first: 1, rows: -1}, seed: 18446744073709551615}\nnodes: 1\ngpusPerNode: 1",
		"builtin: {name: storm, scale: .nan}\n---\n",
	} {
		f.Add([]byte(yaml))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > maxInput {
			return
		}
		open := func(string) (io.ReadCloser, error) { return os.Open("testdata/simple.csv") }
		var w Workload
		var err error
		bounded(t, func() { w, err = Parse(data, "a.yaml", open) })
		if err != nil {
			return
		}
		if err := Validate(w); err != nil {
			t.Fatal(err)
		}
		again, err := Parse(data, "a.yaml", open)
		if diff := cmp.Diff(w, again); diff != "" || err != nil {
			t.Errorf("read twice: %v (-first +second):\n%s", err, diff)
		}
	})
}
