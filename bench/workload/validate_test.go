package workload

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// valid is a workload with something of everything, on 2 nodes of 8 GPUs.
func valid() Workload {
	return Workload{
		Name: "a", Question: "Why?", Nodes: 2, GPUsPerNode: 8, End: EndFinished, Cut: time.Minute,
		Gangs: []Gang{
			{Name: "a", Ranks: 16, GPUs: 1, Priority: PriorityLow, Train: time.Second, Checkpoint: time.Second},
			{Name: "b", Ranks: 3, GPUs: 8, Priority: PriorityHigh, Never: true},
			{Name: "a-2", Ranks: 2, GPUs: 5, Priority: PriorityNormal, At: time.Second, DeleteAfter: time.Second},
		},
		Failures: []NodeFailure{
			{At: time.Second, Node: 1, For: time.Second}, {At: 2 * time.Second, Node: 1, For: time.Second},
		},
	}
}

// TestValidate changes one thing of a valid workload at a time.
func TestValidate(t *testing.T) {
	tests := map[string]struct {
		reason string
		change func(*Workload)
		want   string // "" for no error, else a part of it
	}{
		"as it is": {"nothing is wrong", func(*Workload) {}, ""},
		"no name": {"reports are files by its name", func(w *Workload) { w.Name = "" },
			`name: Invalid value: ""`},
		"a long name": {"a label has 63 characters", func(w *Workload) { w.Name = strings.Repeat("a", 64) },
			"name: Too long"},
		"no question": {"a report says what it answers", func(w *Workload) { w.Question = "" },
			"question: Required value: say in a sentence"},
		"no nodes": {"nothing could run", func(w *Workload) { w.Nodes = 0 },
			"nodes: Invalid value: 0: must be from 1 to 20000"},
		"many GPUs": {"no node has so many", func(w *Workload) { w.GPUsPerNode = 65 },
			"gpusPerNode: Invalid value: 65: must be from 1 to 64"},
		"no gangs": {"there would be nothing to play", func(w *Workload) { w.Gangs = nil },
			"gangs: Required value"},
		"too many gangs": {"a slip of the pen", func(w *Workload) { w.Gangs = make([]Gang, MaxGangs+1) },
			"gangs: Too many: 100001: must have at most 100000 items"},
		"too many ranks": {"a slip of the pen",
			func(w *Workload) { w.Gangs[0].Ranks = MaxRanks; w.Gangs[1].Ranks = 1 },
			"gangs: Too many: 1000001"},
		"only gangs that never fit": {"the run would be over at once",
			func(w *Workload) { w.Gangs = w.Gangs[1:2] }, "gangs: Invalid value: 1: a run waits for gangs that fit"},
		"two of a name": {"groups are made by name", func(w *Workload) { w.Gangs[2].Name = "b" },
			`gangs[2].name: Duplicate value: "b"`},
		"a gang's long name": {"pods add to it", func(w *Workload) { w.Gangs[2].Name = strings.Repeat("c", 41) },
			"gangs[2].name: Too long: may not be more than 40"},
		"a gang's bad name": {"groups are named so", func(w *Workload) { w.Gangs[2].Name = "c_d" },
			`gangs[2].name: Invalid value: "c_d"`},
		"gangs of one time not by name": {"an order must be one",
			func(w *Workload) { w.Gangs[1].At = time.Second },
			"gangs[2]: Invalid value: \"a-2\": must not come before"},
		"a later gang first": {"a player goes through the list", func(w *Workload) { w.Gangs[0].At = time.Second },
			"gangs[1]: Invalid value: \"b\": must not come before"},
		"no ranks": {"a gang has one at least", func(w *Workload) { w.Gangs[0].Ranks = 0 },
			"gangs[0].ranks: Invalid value: 0"},
		"no GPUs": {"a rank has one at least", func(w *Workload) { w.Gangs[0].GPUs = 0 },
			"gangs[0].gpus: Invalid value: 0: must be from 1 to 8"},
		"more GPUs than a node": {"a rank is on one node", func(w *Workload) { w.Gangs[0].GPUs = 9 },
			"gangs[0].gpus: Invalid value: 9: must be from 1 to 8"},
		"does not fit": {"it would wait until the cut", func(w *Workload) { w.Gangs[0].Ranks = 17 },
			"gangs[0].ranks: Invalid value: 17: the cluster holds 16 ranks of 1 GPUs: add nodes, or set never"},
		"does not fit by node": {"3 x 5 GPUs are fewer than 16, but a node holds one such rank",
			func(w *Workload) { w.Gangs[2].Ranks = 3 }, "gangs[2].ranks: Invalid value: 3: the cluster holds 2 ranks"},
		"never, and fits": {"it would run after all", func(w *Workload) { w.Gangs[1].Ranks = 2 },
			"gangs[1].never: Invalid value: true: the gang fits"},
		"an unknown priority": {"there is no such class", func(w *Workload) { w.Gangs[0].Priority = "urgent" },
			`gangs[0].priority: Unsupported value: "urgent": supported values: "low", "normal", "high"`},
		"before the start": {"a run begins at 0", func(w *Workload) { w.Gangs[0].At = -1 },
			`gangs[0].at: Invalid value: "-1ns": must be from 0s to 168h`},
		"after the cut": {"it would never be submitted", func(w *Workload) { w.Gangs[2].At = time.Hour },
			`gangs[2].at: Invalid value: "1h0m0s": is after the cut of 1m0s: raise cut`},
		"a training of a year": {"a slip of the pen", func(w *Workload) { w.Gangs[0].Train = 8760 * time.Hour },
			`gangs[0].train: Invalid value`},
		"a negative interval": {"zero means never", func(w *Workload) { w.Gangs[0].Checkpoint = -1 },
			`gangs[0].checkpoint: Invalid value`},
		"deleted before": {"zero means it is not", func(w *Workload) { w.Gangs[0].DeleteAfter = -1 },
			`gangs[0].deleteAfter: Invalid value`},
		"never ends": {"the run would last until the cut", func(w *Workload) { w.Gangs[0].Train = 0 },
			"gangs[0].train: Required value: a run that ends with the last gang would never end"},
		"placed and deleted": {"whether it ran is luck", func(w *Workload) { w.End = EndPlaced },
			"gangs[2].deleteAfter: Invalid value"},
		"placed": {"gangs without an end may be placed", func(w *Workload) {
			w.End = EndPlaced
			w.Gangs[0].Train, w.Gangs[2].DeleteAfter = 0, 0
		}, ""},
		"an unknown end": {"a player knows two", func(w *Workload) { w.End = "Over" },
			`end: Unsupported value: "Over": supported values: "Finished", "Placed"`},
		"no cut": {"a run could last forever", func(w *Workload) { w.Cut = 0 },
			"cut: Required value: say when a run is given up"},
		"a negative idle time": {"zero means none", func(w *Workload) { w.Idle = -1 }, "idle: Invalid value"},
		"a node that is not there": {"nodes count from 0", func(w *Workload) { w.Failures[0].Node = 2 },
			"failures[0].node: Invalid value: 2: must be from 0 to 1"},
		"a failure without an end": {"for is needed", func(w *Workload) { w.Failures[1].For = 0 },
			"failures[1].for: Required value"},
		"failures not in order": {"a player goes through the list", func(w *Workload) { w.Failures[1].At = 0 },
			`failures[1].at: Invalid value: "0s": sort failures by at`},
		"a failure before the start": {"a run begins at 0", func(w *Workload) { w.Failures[0].At = -1 },
			"failures[0].at: Invalid value"},
		"dies twice": {"what is dead cannot die", func(w *Workload) { w.Failures[0].For = 2 * time.Second },
			"failures[1].node: Invalid value: 1: is still dead until 3s"},
		"too many failures": {"a slip of the pen",
			func(w *Workload) { w.Failures = make([]NodeFailure, MaxGangs+1) }, "failures: Too many"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := valid()
			tc.change(&w)
			wantError(t, tc.reason, Validate(w), tc.want)
		})
	}
}

// wantError that says something, or none for "".
func wantError(t *testing.T, reason string, err error, says string) {
	t.Helper()
	if says == "" {
		if err != nil {
			t.Errorf("%s: got %v", reason, err)
		}
		return
	}
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%s: want an error that says %q, got %v", reason, says, err)
	}
}

// TestValidateStopsEarly: ten thousand errors of the same kind are not reported one by one.
func TestValidateStopsEarly(t *testing.T) {
	w := valid()
	w.Gangs = several("g", 10_000, Gang{Ranks: 1, GPUs: 0, Priority: PriorityLow, Train: 1}, 0)
	w.Failures = slices.Repeat([]NodeFailure{{Node: -1}}, 10_000)
	err := Validate(w)
	if err == nil {
		t.Fatal("want an error")
	}
	gangs, failures := strings.Count(err.Error(), "gangs["), strings.Count(err.Error(), "failures[")
	if gangs+failures != maxErrors {
		t.Errorf("%d errors of gangs and %d of failures are reported, want %d", gangs, failures, maxErrors)
	}
}

// TestBound is generous, in steps, and finite.
func TestBound(t *testing.T) {
	gang := func(change func(*Gang)) Workload {
		w := Workload{Nodes: 1, GPUsPerNode: 8, Gangs: []Gang{{Ranks: 5, GPUs: 1}}}
		change(&w.Gangs[0])
		return w
	}
	tests := map[string]struct {
		reason string
		w      Workload
		want   time.Duration
	}{
		"placed": {"2 min and 5 ranks of 200 ms, in steps of 10 s", gang(func(*Gang) {}), 130 * time.Second},
		"training": {"4 x 80 s of training, and 4 x 50 s of the whole cluster's work",
			gang(func(g *Gang) { g.Train = 80 * time.Second }), (121 + 320 + 200 + 9) * time.Second},
		"late": {"what is submitted late and deleted later", gang(func(g *Gang) {
			g.At, g.DeleteAfter = 30*time.Second, 10*time.Second
		}), (121 + 40 + 9) * time.Second},
		"never": {"what never runs takes no time", gang(func(g *Gang) { g.Never, g.Train = true, time.Hour }),
			120 * time.Second},
		"idle": {"the idle minute is part of the run", Workload{Nodes: 1, GPUsPerNode: 1, Idle: time.Minute},
			180 * time.Second},
		"failures": {"nodes come back", Workload{Nodes: 1, GPUsPerNode: 1, Failures: []NodeFailure{
			{At: time.Minute, For: time.Minute}}}, 240 * time.Second},
		"weeks": {"a bound has a bound", gang(func(g *Gang) { g.Train = MaxTime }), MaxTime},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.w.bound()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestPriorities have an order.
func TestPriorities(t *testing.T) {
	got := fmt.Sprint(PriorityLow.Value(), PriorityNormal.Value(), PriorityHigh.Value())
	if diff := cmp.Diff("100 1000 10000", got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
