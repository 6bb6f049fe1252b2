package workload

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata instead of comparing with it")

// scales at which every builtin is looked at.
func scales() []float64 { return []float64{1, 0.5, quickScale, MinScale} }

func build(t *testing.T, name string, scale float64) Workload {
	t.Helper()
	b, err := Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	w, err := b.Build(scale)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestBuiltinsGolden compares what ships with testdata/builtins.txt.
func TestBuiltinsGolden(t *testing.T) {
	const path = "testdata/builtins.txt"
	var got strings.Builder
	for _, scale := range []float64{1, quickScale} {
		fmt.Fprintf(&got, "at scale %g\n", scale)
		for _, b := range Builtins() {
			w := build(t, b.Name, scale)
			fmt.Fprintf(&got, "%s: %s\n    %d nodes, %d gangs, %d ranks, %d failures, until %s, cut after %s\n",
				w.Name, w.Question, w.Nodes, len(w.Gangs), w.Ranks(), len(w.Failures), w.End, w.Cut)
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", path, diff)
	}
}

// TestBuiltinsAreValid at every scale, and the same whenever they are built.
func TestBuiltinsAreValid(t *testing.T) {
	for _, b := range Builtins() {
		for _, scale := range scales() {
			t.Run(fmt.Sprintf("%s/%g", b.Name, scale), func(t *testing.T) {
				w := build(t, b.Name, scale)
				if err := Validate(w); err != nil {
					t.Error(err)
				}
				if diff := cmp.Diff(w, build(t, b.Name, scale)); diff != "" {
					t.Errorf("built twice (-first +second):\n%s", diff)
				}
				if full := build(t, b.Name, 1); w.Nodes > full.Nodes || len(w.Gangs) > len(full.Gangs) {
					t.Errorf("%d nodes and %d gangs are more than at scale 1", w.Nodes, len(w.Gangs))
				}
			})
		}
	}
}

// TestBuiltinShapes: what makes a builtin's question holds at every scale.
func TestBuiltinShapes(t *testing.T) {
	backlog := func(size int) func(Workload) bool {
		return func(w Workload) bool {
			return w.Gangs[0].Ranks == size && w.GPUs()%size == 0 && w.Ranks() == 2*w.GPUs()
		}
	}
	tests := map[string]struct {
		reason string
		holds  func(Workload) bool
	}{
		"burst":     {"all gangs fit at once, exactly", func(w Workload) bool { return w.Ranks() == w.GPUs() }},
		"fixed-1":   {"twice what the cluster holds, in whole gangs", backlog(1)},
		"fixed-8":   {"twice what the cluster holds, in whole gangs", backlog(8)},
		"fixed-32":  {"twice what the cluster holds, in whole gangs", backlog(32)},
		"fixed-128": {"twice what the cluster holds, in whole gangs", backlog(128)},
		"deadlock": {"one gang fits and two do not, and there are several pairs", func(w Workload) bool {
			n := w.Gangs[0].Ranks
			return n <= w.GPUs() && 2*n > w.GPUs() && len(w.Gangs) >= 4 && w.Gangs[len(w.Gangs)-1].At == 0
		}},
		"storm-4s": {"low gangs fill the cluster, and each wave takes half of it", func(w Workload) bool {
			at := map[time.Duration]int{}
			for _, g := range w.Gangs {
				at[g.At] += g.Ranks
			}
			first, second := at[6*time.Second], at[13*time.Second]
			return len(at) == 3 && at[0] == w.GPUs() && 2*first == w.GPUs() && second == first
		}},
		"idle": {"as many gangs run as are queued", func(w Workload) bool {
			return len(w.Gangs) == 2*w.GPUs() && w.Ranks() == 2*w.GPUs() && w.Idle == time.Minute
		}},
		"head-of-line": {"all but the first fill the cluster", func(w Workload) bool {
			return w.Gangs[0].Never && w.Gangs[0].Priority == PriorityHigh && w.Ranks() == w.GPUs()
		}},
		"giant-5000": {"one gang fills the cluster", func(w Workload) bool {
			return len(w.Gangs) == 1 && w.Ranks() == w.GPUs()
		}},
		"churn": {"each gang is deleted 0.5 to 5 s after it came, and the cluster holds half of them",
			func(w Workload) bool {
				lives := time.Duration(0)
				for _, g := range w.Gangs {
					if lives += g.DeleteAfter; g.DeleteAfter < 500*time.Millisecond || g.DeleteAfter > 5*time.Second {
						return false
					}
				}
				alive := lives.Seconds() / 30 * 4 // ranks at a time, on average
				return w.GPUs() < w.Ranks() && (len(w.Gangs) < 300 || math.Abs(alive/float64(w.GPUs())-2) < 0.2)
			}},
		"failures": {"nodes die for a minute, as many of a hundred at every scale", func(w Workload) bool {
			died := float64(len(w.Failures)) / float64(w.Nodes)
			return died > 0.36 && died < 0.48 && w.Failures[len(w.Failures)-1].At <= time.Minute
		}},
		"philly": {"the largest gangs fit", func(w Workload) bool { return w.GPUs() >= 32 }},
	}
	for name, tc := range tests {
		for _, scale := range scales() {
			t.Run(fmt.Sprintf("%s/%g", name, scale), func(t *testing.T) {
				if w := build(t, name, scale); !tc.holds(w) {
					t.Errorf("want: %s; got %d nodes and %d gangs of %d ranks", tc.reason, w.Nodes, len(w.Gangs), w.Ranks())
				}
			})
		}
	}
}

// TestStormsDiffer in their checkpoints alone.
func TestStormsDiffer(t *testing.T) {
	got := map[string]time.Duration{}
	var gangs []Gang
	for _, name := range []string{"storm-1s", "storm-4s", "storm-never"} {
		w := build(t, name, 1)
		got[name] = w.Gangs[0].Checkpoint
		for i := range w.Gangs {
			w.Gangs[i].Checkpoint = 0
		}
		if diff := cmp.Diff(gangs, w.Gangs); gangs != nil && diff != "" {
			t.Errorf("%s (-others +its):\n%s", name, diff)
		}
		gangs = w.Gangs
	}
	want := map[string]time.Duration{"storm-1s": time.Second, "storm-4s": 4 * time.Second, "storm-never": 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBuildRefusesScales(t *testing.T) {
	for _, scale := range []float64{0, -1, 0.009, 1.1, math.NaN(), math.Inf(1)} {
		_, err := Builtins()[0].Build(scale)
		wantError(t, "from 0.01 to 1", err, fmt.Sprintf("building burst: the scale is %g: take 0.01 to 1", scale))
	}
}

func TestLookup(t *testing.T) {
	if w := build(t, "storm", 1); w.Name != "storm-4s" {
		t.Errorf("storm is short for %s", w.Name)
	}
	_, err := Lookup("brust")
	wantError(t, "the names are listed", err, `no builtin is named "brust": take one of burst, fixed-1, `)
}

func TestSets(t *testing.T) {
	var all []string
	for _, b := range Builtins() {
		all = append(all, b.Name)
	}
	tests := map[string]struct {
		reason string
		want   []string
		nodes  int // of the first
	}{
		string(SetDefault): {"what most people ask", []string{"burst", "fixed-8", "storm-4s"}, 200},
		string(SetQuick):   {"the short ones, at a tenth", []string{"burst", "fixed-8"}, 20},
		string(SetFull):    {"everything, once", all, 200},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Set(name).Workloads()
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, w := range got {
				names = append(names, w.Name)
			}
			if diff := cmp.Diff(tc.want, names); diff != "" || got[0].Nodes != tc.nodes {
				t.Errorf("%s: %d nodes, want %d (-want +got):\n%s", tc.reason, got[0].Nodes, tc.nodes, diff)
			}
		})
	}
	_, err := Set("fast").Workloads()
	wantError(t, "the sets are listed", err, `no set is named "fast": take one of default, quick, full`)
}
