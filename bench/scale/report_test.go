package scale

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/bench/result"
)

// Three sizes were played, of which the operator's memory grows with the jobs, and what an idle one does not;
// the largest broke after its queue.
func TestMarkdown(t *testing.T) {
	r := Results{Machine: result.Machine{Processors: 2, CPU: "a CPU", Go: "go1.26", Commit: "abc"}}
	for i, n := range []int{4, 2, 1} {
		size, err := Part("native", n)
		if err != nil {
			t.Fatal(err)
		}
		grown := float64(size.Jobs())
		s := Step{Scheduler: "native", Size: size, Phases: []Phase{
			{
				Name: Fill, Jobs: size.Gangs, Seconds: grown / 100,
				CPU: map[string]float64{
					"operator": 0.02 * float64(size.Gangs), "kube-apiserver": 0.1 * float64(size.Gangs),
				},
			},
			{
				Name: Queue, Jobs: size.Waiting, Seconds: grown / 50,
				CPU:        map[string]float64{"operator": 0.01 * float64(size.Waiting)},
				PeakMemory: map[string]int64{"operator": int64(grown * 1e4), "kube-apiserver": int64(grown * 1e5)},
				Writes:     map[string]int{"operator": 6 * size.Waiting, "bench": size.Waiting},
			},
		}}
		if i < 2 {
			s.Phases = append(s.Phases,
				Phase{
					Name: Idle, Seconds: 60, CPU: map[string]float64{"operator": 0.6, "etcd": 5.4},
					PeakMemory: map[string]int64{"operator": int64(grown * 9e3)},
				},
				Phase{Name: Restart, ReadySeconds: 2, Seconds: 3, Again: 1},
				Phase{Name: Failover, ReadySeconds: 16, Lost: 1},
				Phase{
					Name: Preempt, Jobs: 3, Answers: []float64{0.1, 0.2, 0.9}, Entries: []float64{2, 3, 40},
					Writes: map[string]int{"operator": 90},
				})
		} else {
			s.BrokeIn, s.Broke = Idle, "idle: not within 2m0s"
		}
		r.Steps = append(r.Steps, s)
	}
	slices.Reverse(r.Steps) // whatever was played first
	dir := t.TempDir()
	if err := r.Report(dir); err != nil {
		t.Fatal(err)
	}
	if panels := slices.Concat(r.curves().Panels...); len(panels) != len(drawn) || slices.Contains(panels, nil) {
		t.Errorf("of %d costs these have a curve: %v", len(drawn), panels)
	}
	if plot, err := os.Stat(filepath.Join(dir, "plots", "scale.png")); err != nil || plot.Size() < 10_000 {
		t.Errorf("the curves: %v, %v", plot, err)
	}
	text := r.Markdown()
	for _, want := range []string{
		"| jobs | 2750 | 5500 | 11000 | grows as |",
		"| ranks that run | 2000 | 4000 | 8000 |  |",
		"| filling: s until all gangs run | 27.5 | 55 | 110 | 1.00 |",
		"| filling: operator's CPU per gang, ms | 20 | 20 | 20 | 0.00 |",
		"| queueing: operator's writes per job | 6 | 6 | 6 | 0.00 |",
		"| idle: operator's CPU, % of a processor | 1 | 1 | - |  |",
		"| idle: all programs' CPU, % of a processor | 10 | 10 | - |  |",
		"| operator's memory when idle, MB | 24.8 | 49.5 | - | - |",
		"| operator's memory at most, MB | 27.5 | 55 | 110 | 1.00 |",
		"| preempting: ms until a victim's last rank is gone, p50 | 200 | 200 | - | - |",
		"| preempting: ms until a victim's last rank is gone, worst | 900 | 900 | - | - |",
		"| preempting: s until the gang has its nodes, p50 | 3 | 3 | - | - |",
		"| preempting: s until the gang has its nodes, worst | 40 | 40 | - |  |",
		"| preempting: gangs that got to it | 3 | 3 | - |  |",
		"| preempting: operator's writes per gang | 30 | 30 | - |  |",
		"| failover: s until a new job is queued | 16 | 16 | - |  |",
		"| restart and failover: ranks lost | 1 | 1 | - |  |",
		"| restart and failover: ranks created | 1 | 1 | - |  |",
		"With 11000 jobs it broke: idle: not within 2m0s.",
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
}

// Where a scheduler broke, larger steps end before that phase, and what was played is not played again.
func TestWhatIsLeftOut(t *testing.T) {
	small, large := Size{Nodes: 1, Gangs: 1, Waiting: 1}, Size{Nodes: 2, Gangs: 2, Waiting: 2}
	r := Results{Steps: []Step{
		{Scheduler: "kueue", Size: small, BrokeIn: Idle}, {Scheduler: "native", Size: small},
		{Scheduler: "coscheduling", Size: small, BrokeIn: Fill}, {Scheduler: "volcano", Size: large, BrokeIn: Fill},
	}}
	for scheduler, want := range map[string][]string{
		"kueue": {Fill, Queue}, "native": phaseNames(), "coscheduling": {}, "volcano": phaseNames(),
	} {
		size := large
		if scheduler == "volcano" {
			size = small // it broke with more
		}
		if diff := cmp.Diff(want, r.bearable(scheduler, size)); diff != "" {
			t.Errorf("what is played on %s (-want +got):\n%s", scheduler, diff)
		}
	}
	if !r.has("native", small) || r.has("native", large) {
		t.Error("what was played is wrong")
	}
	dir := t.TempDir()
	if had, err := Load(dir); err != nil || len(had.Steps) != 0 {
		t.Errorf("results of nowhere: %v, %v", had, err)
	}
	if err := r.save(dir); err != nil {
		t.Fatal(err)
	}
	if had, err := Load(dir); err != nil || !had.has("native", small) || had.Steps[0].BrokeIn != Idle {
		t.Errorf("saved and loaded: %+v, %v", had, err)
	}
}

// TestNothingMeasured: if the first phase of all steps fails, the report says so.
func TestNothingMeasured(t *testing.T) {
	r := &Results{Steps: []Step{{
		Scheduler: "native", Size: Size{Nodes: 10, Gangs: 10, Waiting: 40},
		BrokeIn: Fill, Broke: "fill: not within 30m0s",
	}}}
	if err := r.Report(t.TempDir()); err != nil {
		t.Error(err)
	}
	if text := r.Markdown(); !strings.Contains(text, "it broke: fill: not within 30m0s") {
		t.Error(text)
	}
}

func TestPart(t *testing.T) {
	got, err := Part("native", 8)
	if want := (Size{Nodes: 125, Gangs: 125, Waiting: 1250}); err != nil || got != want {
		t.Errorf("an eighth is %+v, %v, want %+v", got, err, want)
	}
	if got.Ranks() != got.GPUs() {
		t.Errorf("%d ranks do not fill %d GPUs", got.Ranks(), got.GPUs())
	}
	for _, bad := range []int{-1, 0, 101} {
		if _, err := Part("native", bad); err == nil {
			t.Errorf("part %d is accepted", bad)
		}
	}
}

// One scheduler after the other, each from its smallest part to the whole: the simulated one has a larger
// whole.
func TestPlan(t *testing.T) {
	plan, err := Plan([]string{"native", Simulated}, []int{1, 10})
	if err != nil {
		t.Fatal(err)
	}
	want := []Planned{
		{"native", Size{Nodes: 100, Gangs: 100, Waiting: 1000}},
		{"native", Size{Nodes: 1000, Gangs: 1000, Waiting: 10_000}},
		{Simulated, Size{Nodes: 1000, Gangs: 1000, Waiting: 9000}},
		{Simulated, Size{Nodes: 10_000, Gangs: 10_000, Waiting: 90_000}},
	}
	if diff := cmp.Diff(want, plan); diff != "" {
		t.Errorf("the plan (-want +got):\n%s", diff)
	}
	if _, err := Plan([]string{"another"}, []int{1}); err == nil {
		t.Error("a scheduler that there is not is accepted")
	}
}

// What a simulated cluster cannot tell, the report does not.
func TestMarkdownOfSimulation(t *testing.T) {
	filled := Phase{Name: Fill, Jobs: 1, CPU: map[string]float64{"operator": 0.5}}
	r := Results{Steps: []Step{{
		Scheduler: Simulated, Size: Size{Nodes: 1, Gangs: 1, Waiting: 9}, Phases: []Phase{filled},
	}}}
	text := r.Markdown()
	for _, want := range []string{
		simulation, "| filling: operator's CPU per gang, ms | 500 |",
		"| filling: API server's CPU per gang, ms | - |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
}
