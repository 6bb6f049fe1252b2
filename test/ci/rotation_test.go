package main

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func fourParts() []Part {
	part := func(name, path string) Part {
		return Part{Name: name, Paths: []string{path}, Took: metav1.Duration{Duration: 10 * time.Minute}}
	}
	return []Part{part("board", "pkg/server/"), part("gates", "bench/"), part("kueue", "scheduler/kueue/"),
		part("reasons", "pkg/explain/")}
}

func names(parts []Part) (names []string) {
	for _, p := range parts {
		names = append(names, p.Name)
	}
	return names
}

func ages(hours map[string]int) Record {
	r := Record{Parts: map[string]Success{}}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, h := range hours {
		r.Parts[name] = Success{Commit: "c", Time: now.Add(-time.Duration(h) * time.Hour)}
	}
	return r
}

func TestRotate(t *testing.T) {
	for name, tc := range map[string]struct {
		record  Record
		touched []string
		want    []string
	}{
		"by age": {
			ages(map[string]int{"board": 1, "gates": 3, "kueue": 2, "reasons": 4}), nil,
			[]string{"reasons", "gates", "kueue", "board"},
		},
		"the oldest, then what was touched": {
			ages(map[string]int{"board": 1, "gates": 3, "kueue": 2, "reasons": 4}),
			[]string{"README.md", "pkg/server/board/page.go", "scheduler/kueue/backend.go"},
			[]string{"reasons", "kueue", "board", "gates"},
		},
		"one that never succeeded here": {
			ages(map[string]int{"board": 1, "gates": 3, "kueue": 2}), nil,
			[]string{"reasons", "gates", "kueue", "board"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := names(Rotate(fourParts(), tc.record, tc.touched, "c")); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestRotateRunsEverything lands as often as there are parts, each time with time for one.
func TestRotateRunsEverything(t *testing.T) {
	parts, record, ran := fourParts(), Record{Parts: map[string]Success{}}, map[string]bool{}
	for i := range parts {
		p := Rotate(parts, record, []string{"pkg/server/board/page.go"}, "c")[0]
		record.Parts[p.Name] = Success{Time: time.Unix(int64(i+1), 0)}
		ran[p.Name] = true
	}
	if len(ran) != len(parts) {
		t.Errorf("%d landings ran %d of %d parts: %v", len(parts), len(ran), len(parts), ran)
	}
}

// TestRotateWithoutRecord: where nothing is recorded, different commits begin with different parts.
func TestRotateWithoutRecord(t *testing.T) {
	first := map[string]bool{}
	for commit := range 40 {
		first[Rotate(fourParts(), Record{}, nil, fmt.Sprint(commit))[0].Name] = true
	}
	if len(first) != len(fourParts()) {
		t.Errorf("40 commits begin with %v alone", first)
	}
}

func TestBudget(t *testing.T) {
	start := time.Unix(1000, 0)
	env := map[string]string{"CI_STARTED": "1000", "CI_BUDGET": "1200"}
	b, err := ReadBudget(func(name string) string { return env[name] }, start.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	part := fourParts()[0] // ten minutes
	if !b.Holds(part, start.Add(9*time.Minute)) || b.Holds(part, start.Add(11*time.Minute)) {
		t.Errorf("a budget of 20 minutes does not end after 20 minutes: %+v", b)
	}
	env["CI_BUDGET"] = "soon"
	if _, err := ReadBudget(func(name string) string { return env[name] }, start); err == nil {
		t.Error("a budget that is no number is accepted")
	}
}

func TestRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parts.json")
	if got, err := ReadRecord(path); err != nil || !reflect.DeepEqual(got, Record{}) {
		t.Fatalf("without a file: %+v, %v", got, err)
	}
	want := ages(map[string]int{"board": 1})
	want.Landing = "c"
	if err := want.Write(path); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadRecord(path); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestFailuresAreListed(t *testing.T) {
	f := &failures{}
	for _, piece := range []string{
		"ok  \ta\t1s\n--- FA", "IL: TestA (1s)\n    a_test.go:1: --- FAIL in a text\n",
		"    --- FAIL: TestA/b (0s)\nFAIL\tpackage\t2s\n",
	} {
		if _, err := f.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if want := "--- FAIL: TestA (1s)\n    --- FAIL: TestA/b (0s)\nFAIL\tpackage\t2s"; f.String() != want {
		t.Errorf("got %q, want %q", f, want)
	}
}
