package timeline

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// story plays inputs at whole seconds.
type story struct {
	*testing.T
	*Timeline
}

func tell(t *testing.T, gangs ...workload.Gang) story {
	t.Helper()
	return story{t, New(workload.Workload{Gangs: gangs})}
}

// pods are all in one state from at on.
func (s story) pods(at int, gang string, state State, uids ...types.UID) (began *Training) {
	s.Helper()
	for _, uid := range uids {
		began = s.See(Event{At: time.Duration(at) * time.Second, Gang: gang, UID: uid, State: state})
	}
	return began
}

func (s story) result(end workload.End) result.Run {
	var run result.Run
	s.Summarize(end, &run)
	return run
}

func two(name string) workload.Gang {
	return workload.Gang{Name: name, Ranks: 2, GPUs: 4, Priority: workload.PriorityNormal,
		Train: 10 * time.Second, Checkpoint: 2 * time.Second}
}

func TestOneGang(t *testing.T) {
	s := tell(t, two("a"))
	s.Submitted("a", time.Second)
	s.pods(2, "a", Pending, "0", "1")
	s.Admitted("a", 3*time.Second)
	s.pods(4, "a", Bound, "0")
	if began := s.pods(5, "a", Running, "0"); began != nil {
		t.Errorf("half a gang trains: %v", began)
	}
	s.pods(6, "a", Bound, "1")
	began := s.pods(7, "a", Running, "1")
	want := &Training{Gang: "a", Attempt: 1, Left: 10 * time.Second}
	if diff := cmp.Diff(want, began); diff != "" {
		t.Fatalf("training (-want +got):\n%s", diff)
	}
	if got, want := s.Counts(), (Counts{All: 1, Submitted: 1, Running: 1, Pods: 2}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	if !s.Finish("a", 1, 17*time.Second) || s.Finish("a", 1, 18*time.Second) {
		t.Error("a gang finishes once")
	}
	s.pods(18, "a", Ended, "0", "1")
	run := s.result(workload.EndFinished)
	wantGang := result.Gang{
		Name: "a", Ranks: 2, GPUs: 4, Priority: "normal", Submitted: 1, Admitted: 3, Created: 2, Bound: 6,
		Running: 7, Finished: 17,
	}
	if diff := cmp.Diff([]result.Gang{wantGang}, run.Gangs); diff != "" {
		t.Errorf("gang (-want +got):\n%s", diff)
	}
	// One rank held 4 GPUs for 2 s before the other had its node.
	if run.Seconds != 17 || run.HeldIncomplete != 8 || run.BusyGPUSeconds != 80 || run.LostGPUSeconds != 0 {
		t.Errorf("%v s, held %v, busy %v, lost %v", run.Seconds, run.HeldIncomplete, run.BusyGPUSeconds,
			run.LostGPUSeconds)
	}
}

func TestInterruptions(t *testing.T) {
	cases := map[string]struct {
		reason string
		every  time.Duration
		lose   State
		// left of the 10 s after 5 s of training, and lost of those 5 s.
		left, lost time.Duration
	}{
		"falls back to its save":   {"saved at 4 of 5 s", 2 * time.Second, Ending, 6 * time.Second, time.Second},
		"never saves":              {"starts again", 0, Ending, 10 * time.Second, 5 * time.Second},
		"a save just now":          {"5 s of 5 s", 5 * time.Second, Ending, 5 * time.Second, 0},
		"a rank is gone at once":   {"no grace", 2 * time.Second, Gone, 6 * time.Second, time.Second},
		"a rank fails":             {"it does not run", 2 * time.Second, Ended, 6 * time.Second, time.Second},
		"a longer interval":        {"nothing saved yet", 6 * time.Second, Gone, 10 * time.Second, 5 * time.Second},
		"its node says it is lost": {"pending again is not running", time.Second, Pending, 5 * time.Second, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			spec := two("a")
			spec.Checkpoint = c.every
			s := tell(t, spec)
			s.pods(0, "a", Running, "0", "1")
			s.pods(5, "a", c.lose, "1")
			if s.Finish("a", 1, 10*time.Second) {
				t.Error("an interrupted gang finishes")
			}
			s.pods(11, "a", Gone, "0", "1")
			s.pods(12, "a", Pending, "2", "3")
			began := s.pods(13, "a", Running, "2", "3")
			want := &Training{Gang: "a", Attempt: 2, Left: c.left}
			if diff := cmp.Diff(want, began); diff != "" {
				t.Errorf("%s: training (-want +got):\n%s", c.reason, diff)
			}
			run := s.result(workload.EndPlaced)
			got := run.Gangs[0]
			if got.Interruptions != 1 || got.LostSeconds != c.lost.Seconds() ||
				!cmp.Equal(got.Resumes, []float64{8}) {
				t.Errorf("%s: %+v", c.reason, got)
			}
			if run.LostGPUSeconds != c.lost.Seconds()*8 || run.BusyGPUSeconds != 40 {
				t.Errorf("lost %v, busy %v GPU-seconds", run.LostGPUSeconds, run.BusyGPUSeconds)
			}
		})
	}
}

// Gang scheduling prevents that half a gang waits forever for the other half.
func TestHeldByTheIncomplete(t *testing.T) {
	s := tell(t, two("a"), two("b"))
	s.pods(0, "a", Bound, "a0")
	s.pods(0, "b", Bound, "b0", "b1")
	s.pods(4, "b", Ending, "b1")    // 4 GPUs of a
	s.pods(6, "b", Gone, "b1")      // and 8 of b
	s.pods(10, "b", Pending, "b1x") // and 4 of b
	run := s.result(workload.EndPlaced)
	if want := 10*4.0 + 2*8 + 4*4; math.Abs(run.HeldIncomplete-want) > 1e-9 {
		t.Errorf("held %v GPU-seconds, want %v", run.HeldIncomplete, want)
	}
}

func TestInversions(t *testing.T) {
	gang := func(name string, p workload.Priority, ranks int) workload.Gang {
		return workload.Gang{Name: name, Ranks: ranks, GPUs: 1, Priority: p}
	}
	cases := map[string]struct {
		reason string
		high   workload.Gang
		// When the two were submitted and the high one got its nodes, in seconds; the low one got them at 10.
		high0, low0, highBound int
		want                   int
	}{
		"passed over":         {"it waited and fits", gang("h", "high", 1), 1, 1, 11, 1},
		"arrived later":       {"", gang("h", "high", 1), 10, 1, 11, 0},
		"was first":           {"", gang("h", "high", 1), 1, 1, 9, 0},
		"needs more":          {"the small one may fill a gap", gang("h", "high", 2), 1, 1, 11, 0},
		"of the same class":   {"", gang("h", "normal", 1), 1, 1, 11, 0},
		"never placed at all": {"", gang("h", "high", 1), 1, 1, -1, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := tell(t, c.high, gang("l", "normal", 1))
			s.Submitted("h", time.Duration(c.high0)*time.Second)
			s.Submitted("l", time.Duration(c.low0)*time.Second)
			s.pods(10, "l", Bound, "l0")
			if c.highBound >= 0 {
				for i := range c.high.Ranks {
					s.pods(c.highBound, "h", Bound, types.UID(rune('0'+i)))
				}
			}
			if got := s.result(workload.EndPlaced).Inversions; got != c.want {
				t.Errorf("%s: %d inversions, want %d", c.reason, got, c.want)
			}
		})
	}
}

func TestDeletedByItsUser(t *testing.T) {
	s := tell(t, two("a"), two("b"))
	s.pods(1, "a", Running, "0", "1")
	s.Deleted("a", 4*time.Second)
	s.pods(5, "a", Ending, "0", "1")
	s.pods(6, "a", Gone, "0", "1")
	s.Deleted("b", 6*time.Second)
	run := s.result(workload.EndFinished)
	if g := run.Gangs[0]; g.Finished != 4 || g.Interruptions != 0 || run.LostGPUSeconds != 0 {
		t.Errorf("deleted while it trained: %+v", g)
	}
	if g := run.Gangs[1]; g.Finished != 6 || g.Running != -1 {
		t.Errorf("deleted while it waited: %+v", g)
	}
	if got := s.Counts(); got.Finished != 2 || got.Pods != 0 {
		t.Errorf("counts %+v", got)
	}
}

func TestCurves(t *testing.T) {
	s := tell(t, two("a"), two("b"))
	s.pods(2, "a", Running, "0", "1")
	s.pods(1, "b", Bound, "2") // another watch was late
	s.Finish("a", 1, 4*time.Second)
	s.pods(4, "a", Ended, "0", "1")
	want := result.Curves{
		Seconds: []float64{0, 1, 2, 3, 4}, Created: []int{0, 0, 1, 1, 1}, Admitted: []int{0, 1, 2, 2, 2},
		Bound: []int{0, 0, 1, 1, 1}, Finished: []int{0, 0, 0, 0, 1}, Training: []int{0, 0, 1, 1, 0},
		BusyGPUs: []int{0, 0, 8, 8, 0}, HeldGPUs: []int{0, 4, 4, 4, 4},
	}
	if diff := cmp.Diff(want, s.Curves(4), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("curves (-want +got):\n%s", diff)
	}
	if s.pods(5, "c", Pending, "x"); s.Unknown() != 1 {
		t.Errorf("%d events of unknown gangs", s.Unknown())
	}
}

func TestPlaced(t *testing.T) {
	s := story{t, New(workload.Workload{Nodes: 1, GPUsPerNode: 8, Gangs: []workload.Gang{
		two("a"), two("b"), {Name: "never", Ranks: 99, GPUs: 8, Never: true},
	}})}
	s.Submitted("a", 0)
	s.pods(1, "a", Running, "0", "1")
	if s.Placed() {
		t.Error("b has not been submitted")
	}
	s.Submitted("b", time.Second)
	if !s.Placed() {
		t.Error("a has all GPUs, so b does not fit")
	}
	s.pods(2, "a", Ending, "1")
	if s.Placed() {
		t.Error("nothing runs")
	}
}
