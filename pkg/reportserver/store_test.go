package reportserver

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

var _ source.Source = (*Store)(nil)

func report(attempt int32, step int64, do ...func(*checkpoint.Report)) *checkpoint.Report {
	r := &checkpoint.Report{Attempt: attempt, Phase: checkpoint.PhaseTraining, Step: step}
	for _, f := range do {
		f(r)
	}
	return r
}

func withCommit(step int64) func(*checkpoint.Report) {
	return func(r *checkpoint.Report) {
		r.Checkpoint = &checkpoint.Save{State: checkpoint.SaveCommitted, Step: step,
			URI: fmt.Sprintf("pvc://data/%d/%d", r.Attempt, step)}
	}
}

func withPhase(p checkpoint.Phase) func(*checkpoint.Report) {
	return func(r *checkpoint.Report) { r.Phase = p }
}

func withFirstStep(n int64) func(*checkpoint.Report) {
	return func(r *checkpoint.Report) { r.FirstStep = &n }
}

func withCommand(id string) func(*checkpoint.Report) {
	return func(r *checkpoint.Report) { r.CommandID = id }
}

func withStart(id string) func(*checkpoint.Report) {
	return func(r *checkpoint.Report) { r.Start = id }
}

// TestMerge merges the reports of one job, and checks what is known then and how urgent the last report is.
func TestMerge(t *testing.T) {
	type known struct {
		Attempt       int32
		Step          int64
		Phase         checkpoint.Phase
		FirstStep     int64
		Former        int64
		Command       string
		Commit        string
		Urgency       urgency
		Alive, Newest bool // the last report moved the time; it is the report that is known
	}
	tests := map[string]struct {
		reason  string
		reports []*checkpoint.Report
		// attemptOver: a later attempt has replaced the last report's.
		attemptOver bool
		want        known
	}{
		"the first": {"a step can wait", []*checkpoint.Report{report(2, 5)}, false,
			known{Attempt: 2, Step: 5, Phase: "Training", Urgency: deferrable, Alive: true, Newest: true}},
		"nothing new": {"a heartbeat wakes no job", []*checkpoint.Report{report(2, 5), report(2, 5)}, false,
			known{Attempt: 2, Step: 5, Phase: "Training", Urgency: noNews, Alive: true, Newest: true}},
		"a step on": {"", []*checkpoint.Report{report(2, 5), report(2, 6)}, false,
			known{Attempt: 2, Step: 6, Phase: "Training", Urgency: deferrable, Alive: true, Newest: true}},
		"replayed: an older step": {"steps move forward", []*checkpoint.Report{report(2, 5), report(2, 6),
			report(2, 5)}, false,
			known{Attempt: 2, Step: 6, Phase: "Training", Urgency: noNews, Alive: true}},
		"replayed: an older commit": {"commits move forward", []*checkpoint.Report{report(2, 5, withCommit(4)),
			report(2, 9, withCommit(8)), report(2, 5, withCommit(4))}, false,
			known{Attempt: 2, Step: 9, Phase: "Training", Commit: "2/8", Urgency: noNews, Alive: true}},
		"late: a commit in an older report": {"it overtook its successor, and the successor had none",
			[]*checkpoint.Report{report(2, 9), report(2, 8, withCommit(8))}, false,
			known{Attempt: 2, Step: 9, Phase: "Training", Commit: "2/8", Urgency: deferrable, Alive: true}},
		"a lower commit at a higher step": {"commits move forward",
			[]*checkpoint.Report{report(2, 9, withCommit(8)), report(2, 10, withCommit(4))}, false,
			known{Attempt: 2, Step: 10, Phase: "Training", Commit: "2/8", Urgency: deferrable, Alive: true,
				Newest: true}},
		"a save under way": {"it is no commit", []*checkpoint.Report{report(2, 9, withCommit(8)),
			report(2, 9, func(r *checkpoint.Report) {
				r.Checkpoint = &checkpoint.Save{State: checkpoint.SaveSaving, Step: 9}
			})}, false, known{Attempt: 2, Step: 9, Phase: "Training", Commit: "2/8", Urgency: deferrable, Alive: true,
			Newest: true}},
		"the next attempt": {"steps restart, the commit stays",
			[]*checkpoint.Report{report(2, 9, withCommit(8), withFirstStep(1), withCommand("a")),
				report(3, 0, withPhase("Starting"))}, false,
			known{Attempt: 3, Phase: "Starting", Commit: "2/8", Urgency: deferrable, Alive: true, Newest: true}},
		"the next attempt's lower commit": {"it resumed from an earlier one: the newest was torn",
			[]*checkpoint.Report{report(2, 9, withCommit(8)), report(3, 7, withCommit(6))}, false,
			known{Attempt: 3, Step: 7, Phase: "Training", Commit: "3/6", Urgency: deferrable, Alive: true,
				Newest: true}},
		"an older attempt": {"late: it may add a commit to nothing", []*checkpoint.Report{report(3, 7),
			report(2, 9, withCommit(8))}, false,
			known{Attempt: 3, Step: 7, Phase: "Training", Commit: "2/8", Urgency: deferrable}},
		"an older attempt's commit behind a newer's": {"", []*checkpoint.Report{report(3, 7, withCommit(6)),
			report(2, 9, withCommit(8))}, false,
			known{Attempt: 3, Step: 7, Phase: "Training", Commit: "3/6", Urgency: noNews}},
		"an attempt that is over": {"draining adds its commit, not its steps", []*checkpoint.Report{report(2, 7),
			report(2, 9, withCommit(8))}, true,
			known{Attempt: 2, Step: 7, Phase: "Training", Commit: "2/8", Urgency: deferrable}},
		"the first word, of an attempt that is over": {"", []*checkpoint.Report{report(2, 9, withCommit(8))},
			true, known{Commit: "2/8", Urgency: deferrable}},
		"completed": {"at once", []*checkpoint.Report{report(2, 9), report(2, 9, withPhase("Completed"))}, false,
			known{Attempt: 2, Step: 9, Phase: "Completed", Urgency: urgent, Alive: true, Newest: true}},
		"replayed: training after the end": {"the end stays", []*checkpoint.Report{report(2, 9),
			report(2, 9, withPhase("Completed")), report(2, 9)}, false,
			known{Attempt: 2, Step: 9, Phase: "Completed", Urgency: noNews, Alive: true}},
		"the first step": {"at once: the resume point was honoured, or not",
			[]*checkpoint.Report{report(2, 0, withPhase("Starting")), report(2, 9, withFirstStep(9))}, false,
			known{Attempt: 2, Step: 9, Phase: "Training", FirstStep: 9, Urgency: urgent, Alive: true, Newest: true}},
		"the first step left out later": {"it is reported once", []*checkpoint.Report{report(2, 9,
			withFirstStep(9)),
			report(2, 10)}, false,
			known{Attempt: 2, Step: 10, Phase: "Training", FirstStep: 9, Urgency: deferrable, Alive: true}},
		"a command carried out": {"at once", []*checkpoint.Report{report(2, 9), report(2, 9, withCommand("a"))},
			false,
			known{Attempt: 2, Step: 9, Phase: "Training", Command: "a", Urgency: urgent, Alive: true, Newest: true}},
		"replayed: before the command": {"it stays carried out",
			[]*checkpoint.Report{report(2, 9, withCommand("a")), report(2, 9)}, false,
			known{Attempt: 2, Step: 9, Phase: "Training", Command: "a", Urgency: noNews, Alive: true}},
		"another start": {"its steps are lower, and its first step is its own",
			[]*checkpoint.Report{report(2, 9, withStart("a"), withFirstStep(1), withCommit(6)),
				report(2, 7, withStart("b"), withFirstStep(7))}, false,
			known{Attempt: 2, Step: 7, Phase: "Training", FirstStep: 7, Former: 9, Commit: "2/6", Urgency: urgent,
				Alive: true, Newest: true}},
		"replayed: the former start": {"it is over", []*checkpoint.Report{report(2, 9, withStart("a")),
			report(2, 7, withStart("b")), report(2, 9, withStart("a"), withCommit(8))}, false,
			known{Attempt: 2, Step: 7, Phase: "Training", Former: 9, Commit: "2/8", Urgency: deferrable}},
		"the next attempt after another start": {"", []*checkpoint.Report{report(2, 9, withStart("a")),
			report(2, 7, withStart("b")), report(3, 8, withStart("c"))}, false,
			known{Attempt: 3, Step: 8, Phase: "Training", Urgency: deferrable, Alive: true, Newest: true}},
		"the resolver": {"no progress, no commit of an attempt: its result is its pod's termination message",
			[]*checkpoint.Report{report(2, 9, withCommit(8)), report(2, 0, withPhase("Resolved"), withCommit(4))},
			false,
			known{Attempt: 2, Step: 9, Phase: "Training", Commit: "2/8", Urgency: noNews}},
		"the resolver of an older attempt": {"late",
			[]*checkpoint.Report{report(3, 0, withPhase("Resolved"), withCommit(6)),
				report(2, 0, withPhase("Resolved"), withCommit(4))}, false,
			known{Urgency: noNews}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var k received
			var news urgency
			for i, r := range tc.reports {
				k, news = k.merge(r, tc.attemptOver && i == len(tc.reports)-1, start.Add(time.Duration(i+1)*time.Second))
			}
			end, last := start.Add(time.Duration(len(tc.reports))*time.Second), tc.reports[len(tc.reports)-1]
			got := known{Urgency: news, Alive: k.time.Equal(end), Former: k.formerStep}
			if r := k.report; r != nil {
				got.Attempt, got.Step, got.Phase, got.Command, got.Newest = r.Attempt, r.Step, r.Phase, r.CommandID,
					cmp.Equal(r, last)
				if r.FirstStep != nil {
					got.FirstStep = *r.FirstStep
				}
			}
			if c := k.commit; c != nil {
				got.Commit = fmt.Sprintf("%d/%d", c.attempt, c.Step)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestWakes: urgent news wakes the reconciler at once, other news at most every 15 s.
func TestWakes(t *testing.T) {
	clock := testingclock.NewFakeClock(start)
	e := &environment{t: t, clock: clock, store: newStore(clock), queue: newQueue()}
	bert := types.NamespacedName{Namespace: "team-a", Name: "bert"}
	var got []string
	say := func(after time.Duration, r *checkpoint.Report, unwritten bool) {
		clock.Step(after)
		e.store.add(bert, "uid-bert", r, false, unwritten)
		got = append(got, fmt.Sprintf("%s step %d: %v", clock.Since(start), r.Step, e.woken()))
	}
	e.store.add(bert, "uid-bert", report(1, 1), false, false) // before the controller runs
	if err := e.store.Start(t.Context(), e.queue); err != nil {
		t.Fatal(err)
	}
	got = append(got, fmt.Sprint("early: ", e.woken()))
	say(5*time.Second, report(1, 2), false)
	say(5*time.Second, report(1, 2), false)
	say(5*time.Second, report(1, 2), false) // nothing new, but the earlier report is not visible yet
	say(20*time.Second, report(1, 2), false)
	say(20*time.Second, report(1, 3), false)
	say(time.Second, report(1, 3, withFirstStep(1)), false)
	say(time.Second, report(1, 3, withFirstStep(1), withCommit(3)), true)
	say(time.Second, report(1, 3, withFirstStep(1), withCommit(3)), true)
	say(time.Second, report(1, 3, withFirstStep(1), withCommit(3)), false)
	say(time.Second, report(1, 3, withFirstStep(1), withCommit(3), withPhase("Completed")), false)
	say(time.Hour, report(1, 3, withFirstStep(1), withCommit(3), withPhase("Completed")), false)
	want := []string{
		"early: [bert]",
		"5s step 2: []", "10s step 2: []", "15s step 2: [bert]", "35s step 2: []", "55s step 3: [bert]",
		"56s step 3: [bert]",
		"57s step 3: [bert]", "58s step 3: [bert]", "59s step 3: []", "1m0s step 3: [bert]", "1h1m0s step 3: []",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWritesOfAJobAreBounded: rank 0 sends something urgent each second, and the reconciler writes whatever
// differs from its last write, each time that it is woken and again after each write. Whatever rank 0 says,
// the writes that it causes are few, and its last report is visible in the end.
func TestWritesOfAJobAreBounded(t *testing.T) {
	const seconds = 600
	for name, say := range map[string]func(r *checkpoint.Report, second int){
		"commits":              func(r *checkpoint.Report, s int) { withCommit(int64(s))(r) },
		"commands carried out": func(r *checkpoint.Report, s int) { withCommand(fmt.Sprint("c", s))(r) },
		"ends and goes on": func(r *checkpoint.Report, s int) {
			if s%2 == 0 {
				withPhase(checkpoint.PhaseCompleted)(r)
			}
		},
		"metrics": func(r *checkpoint.Report, s int) {
			r.Metrics = map[string]checkpoint.Metric{"loss": checkpoint.Metric(fmt.Sprint(s))}
		},
		"problems": func(r *checkpoint.Report, s int) { r.Problem = fmt.Sprint("problem ", s) },
	} {
		t.Run(name, func(t *testing.T) {
			clock := testingclock.NewFakeClock(start)
			e := &environment{t: t, clock: clock, store: newStore(clock), queue: newQueue()}
			if err := e.store.Start(t.Context(), e.queue); err != nil {
				t.Fatal(err)
			}
			bert := types.NamespacedName{Namespace: "team-a", Name: "bert"}
			writes, written := 0, checkpoint.Report{}
			reconcile := func() bool {
				latest, _ := e.store.Latest("uid-bert")
				if cmp.Equal(written, latest.Report) {
					return false
				}
				written = latest.Report
				writes++
				return true
			}
			for s := range seconds {
				clock.Step(time.Second)
				r := report(1, int64(s))
				say(r, s)
				e.store.add(bert, "uid-bert", r, false, r.Checkpoint != nil && written.Checkpoint != r.Checkpoint)
				e.woken()
				for reconcile() { // a write is an event of the job, which wakes the reconciler again
				}
			}
			const notified = time.Second * seconds
			if most := urgentBurst + int(notified/urgentInterval+notified/wakeInterval) + 1; writes > most {
				t.Errorf("%d writes in %d s, at most %d are allowed", writes, seconds, most)
			}
			clock.Step(wakeInterval)
			e.store.add(bert, "uid-bert", &written, false, false) // any later report
			if latest, _ := e.store.Latest("uid-bert"); latest.Step != seconds-1 {
				t.Errorf("step %d is known in the end", latest.Step)
			}
		})
	}
}

// TestUrgentNewsAreNotDelayed: a trainer that saves every ten seconds and is then asked to save and to exit.
func TestUrgentNewsAreNotDelayed(t *testing.T) {
	clock := testingclock.NewFakeClock(start)
	e := &environment{t: t, clock: clock, store: newStore(clock), queue: newQueue()}
	if err := e.store.Start(t.Context(), e.queue); err != nil {
		t.Fatal(err)
	}
	say := func(r *checkpoint.Report) {
		t.Helper()
		e.store.add(types.NamespacedName{Name: "bert"}, "uid-bert", r, false, r.Checkpoint != nil)
		latest, _ := e.store.Latest("uid-bert")
		if len(e.woken()) != 1 || latest.Step != r.Step || latest.CommandID != r.CommandID ||
			latest.Phase != r.Phase {
			t.Errorf("step %d is not visible at once", r.Step)
		}
	}
	for s := range int64(100) {
		say(report(1, 10*s, withCommit(10*s)))
		clock.Step(10 * time.Second)
	}
	for _, r := range []*checkpoint.Report{
		report(1, 1000, withCommit(1000)), report(1, 1000, withCommit(1000), withCommand("drain-1")),
		report(1, 1000, withCommit(1000), withCommand("drain-1"), withPhase(checkpoint.PhaseCompleted)),
	} {
		say(r)
		clock.Step(time.Second)
	}
}

// TestReportedCountsEveryReport: a trainer whose steps take minutes has no news, and lives all the same.
func TestReportedCountsEveryReport(t *testing.T) {
	clock := testingclock.NewFakeClock(start)
	s := newStore(clock)
	name := types.NamespacedName{Namespace: "team-a", Name: "bert"}
	if _, _, known := s.Reported("uid-bert"); known {
		t.Error("no rank has reported")
	}
	for range 20 {
		s.add(name, "uid-bert", report(2, 5), false, false)
		clock.Step(10 * time.Second)
	}
	attempt, at, known := s.Reported("uid-bert")
	if !known || attempt != 2 || !at.Equal(clock.Now().Add(-10*time.Second)) {
		t.Errorf("attempt %d reported at %s, %t", attempt, at, known)
	}
	if latest, _ := s.Latest("uid-bert"); latest.Received.Equal(at) {
		t.Error("a report without news wakes the reconciler")
	}
}

// TestStoreIsBounded: it forgets the job that was silent for longest, and the jobs that are gone.
func TestStoreIsBounded(t *testing.T) {
	s := newStore(testingclock.NewFakeClock(start))
	uid := func(n int) types.UID { return types.UID(fmt.Sprint(n)) }
	for n := range maxJobs + 1 {
		s.add(types.NamespacedName{Name: "job"}, uid(n), report(1, 1), false, false)
	}
	_, first := s.Latest(uid(0))
	_, second := s.Latest(uid(1))
	s.Forget(uid(2))
	_, third := s.Latest(uid(2))
	if first || !second || third {
		t.Errorf("remembered: the first %v, the second %v, the forgotten %v", first, second, third)
	}
}
