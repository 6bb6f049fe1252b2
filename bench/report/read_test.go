package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/bench/result"
)

func TestReadRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		corrupt func(*result.Results)
		want    string
	}{
		"version": {
			"its fields may mean something else", func(r *result.Results) { r.Version = 2 }, "version 2",
		},
		"no version": {"it is no report", func(r *result.Results) { r.Version = 0 }, "version 0"},
		"stack": {
			"nothing is known of it", func(r *result.Results) { r.Runs[3].Stack = "x" }, `run 3: stack "x"`,
		},
		"workload": {
			"nothing is known of it", func(r *result.Results) { r.Runs[3].Workload = "x" }, `workload "x" is not`,
		},
		"stack twice": {
			"which of them ran?", func(r *result.Results) { r.Stacks[1] = r.Stacks[0] }, "raw/volcano is listed twice",
		},
		"workload twice": {
			"which of them ran?", func(r *result.Results) { r.Workloads[1] = r.Workloads[0] }, "burst is listed twice",
		},
		"run twice": {
			"which of them counts?", func(r *result.Results) { r.Runs[1] = r.Runs[0] }, "has played burst in round 1",
		},
		"curves": {
			"their times are not known",
			func(r *result.Results) { r.Runs[0].Curves.Bound = []int{1} }, "run 0: its curves",
		},
		"file name": {
			"plots are named after it", func(r *result.Results) { r.Workloads[0].Name = "a/b" }, `name "a/b"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := fixture()
			tc.corrupt(&r)
			text, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Read(bytes.NewReader(text)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q: %s", err, tc.want, tc.reason)
			}
		})
	}
	if _, err := Read(strings.NewReader("{")); err == nil {
		t.Error("half a file is read")
	}
}

// TestARunMayBePlayedAgainAfterAnError: only one of the two counts.
func TestARunMayBePlayedAgainAfterAnError(t *testing.T) {
	r := fixture()
	again := r.Runs[0]
	again.Error = "the machine was restarted"
	r.Runs = append([]result.Run{again}, r.Runs...)
	r.Runs = append(r.Runs, again)
	if err := check(r); err != nil {
		t.Error(err)
	}
}

func TestMerge(t *testing.T) {
	whole := fixture()
	parts := []result.Results{fixture(), fixture()}
	parts[0].Runs, parts[1].Runs = nil, nil
	parts[0].Rounds, parts[1].Rounds = 2, 2
	parts[1].Interrupted = false
	for _, run := range whole.Runs {
		if run.Round <= 2 {
			parts[0].Runs = append(parts[0].Runs, run)
		} else {
			run.Round -= 2
			parts[1].Runs = append(parts[1].Runs, run)
		}
	}
	whole.Runs = nil
	for _, part := range parts {
		whole.Runs = append(whole.Runs, part.Runs...)
	}
	for i := range whole.Runs {
		if i >= len(parts[0].Runs) {
			whole.Runs[i].Round += 2
		}
	}
	got, err := Merge(parts...)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole, got); diff != "" {
		t.Error(diff)
	}
	if parts[1].Runs[0].Round > 2 {
		t.Error("merging has changed what it was given")
	}
}

func TestMergeRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(*result.Results)
		want   string
	}{
		"machine": {"seconds differ", func(r *result.Results) { r.Machine.CPU = "x" }, "results 2: their machine"},
		"commit": {
			"ours differs", func(r *result.Results) { r.Machine.Commit = "x" }, "results 2: their machine",
		},
		"settings": {
			"stacks differ", func(r *result.Results) { r.Stacks[0].Settings = nil }, "raw/volcano differs",
		},
		"size": {"workloads differ", func(r *result.Results) { r.Workloads[0].GPUs = 1 }, "burst differs"},
		"version": {
			"formats differ", func(r *result.Results) { r.Version = 9 }, "results 2: results have version 9",
		},
	} {
		other := fixture()
		tc.change(&other)
		if _, err := Merge(fixture(), other); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q: %s", name, err, tc.want, tc.reason)
		}
	}
}
