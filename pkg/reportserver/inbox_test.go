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

var _ source.Source = (*Inbox)(nil)

func report(attempt int32, step int64, do ...func(*checkpoint.Report)) *checkpoint.Report {
	r := &checkpoint.Report{Attempt: attempt, Phase: checkpoint.PhaseTraining, Step: step}
	for _, f := range do {
		f(r)
	}
	return r
}

func commit(step int64) func(*checkpoint.Report) {
	return func(r *checkpoint.Report) {
		r.Checkpoint = &checkpoint.Save{State: checkpoint.SaveCommitted, Step: step, URI: fmt.Sprintf("pvc://data/%d/%d", r.Attempt, step)}
	}
}

func phase(p checkpoint.Phase) func(*checkpoint.Report) {
	return func(r *checkpoint.Report) { r.Phase = p }
}

func firstStep(n int64) func(*checkpoint.Report) {
	return func(r *checkpoint.Report) { r.FirstStep = &n }
}

func command(id string) func(*checkpoint.Report) {
	return func(r *checkpoint.Report) { r.CommandID = id }
}

// TestMerge plays what is said about one job in a row, and holds what is known and how urgent the last word was.
func TestMerge(t *testing.T) {
	type known struct {
		Attempt          int32
		Step             int64
		Phase            checkpoint.Phase
		FirstStep        int64
		Command          string
		Commit           string
		Resolved         int64
		Urgency          news
		HeardOf, Wording bool // the last report moved Time; it is the known Report's wording
	}
	tests := map[string]struct {
		reason  string
		reports []*checkpoint.Report
		// over: the last one's attempt is followed by another.
		over bool
		want known
	}{
		"the first": {"a step is worth a word, no hurry", []*checkpoint.Report{report(2, 5)}, false,
			known{Attempt: 2, Step: 5, Phase: "Training", Urgency: later, HeardOf: true, Wording: true}},
		"nothing new": {"a heartbeat wakes nobody", []*checkpoint.Report{report(2, 5), report(2, 5)}, false,
			known{Attempt: 2, Step: 5, Phase: "Training", Urgency: nothing, HeardOf: true, Wording: true}},
		"a step on": {"", []*checkpoint.Report{report(2, 5), report(2, 6)}, false,
			known{Attempt: 2, Step: 6, Phase: "Training", Urgency: later, HeardOf: true, Wording: true}},
		"replayed: an older step": {"steps move forward", []*checkpoint.Report{report(2, 5), report(2, 6), report(2, 5)}, false,
			known{Attempt: 2, Step: 6, Phase: "Training", Urgency: nothing, HeardOf: true}},
		"replayed: an older commit": {"commits move forward", []*checkpoint.Report{report(2, 5, commit(4)), report(2, 9, commit(8)), report(2, 5, commit(4))}, false,
			known{Attempt: 2, Step: 9, Phase: "Training", Commit: "2/8", Urgency: nothing, HeardOf: true}},
		"late: a commit in an older report": {"it overtook its successor, and the successor had none", []*checkpoint.Report{report(2, 9), report(2, 8, commit(8))}, false,
			known{Attempt: 2, Step: 9, Phase: "Training", Commit: "2/8", Urgency: later, HeardOf: true}},
		"a lower commit at a higher step": {"commits move forward", []*checkpoint.Report{report(2, 9, commit(8)), report(2, 10, commit(4))}, false,
			known{Attempt: 2, Step: 10, Phase: "Training", Commit: "2/8", Urgency: later, HeardOf: true, Wording: true}},
		"a save under way": {"it is no commit", []*checkpoint.Report{report(2, 9, commit(8)), report(2, 9, func(r *checkpoint.Report) {
			r.Checkpoint = &checkpoint.Save{State: checkpoint.SaveSaving, Step: 9}
		})}, false, known{Attempt: 2, Step: 9, Phase: "Training", Commit: "2/8", Urgency: later, HeardOf: true, Wording: true}},
		"the next attempt": {"it begins anew, the commit stays", []*checkpoint.Report{report(2, 9, commit(8), firstStep(1), command("a")), report(3, 0, phase("Starting"))}, false,
			known{Attempt: 3, Phase: "Starting", Commit: "2/8", Urgency: later, HeardOf: true, Wording: true}},
		"the next attempt's lower commit": {"it resumed from an earlier one: the newest was torn", []*checkpoint.Report{report(2, 9, commit(8)), report(3, 7, commit(6))}, false,
			known{Attempt: 3, Step: 7, Phase: "Training", Commit: "3/6", Urgency: later, HeardOf: true, Wording: true}},
		"an older attempt": {"late: it may add a commit to nothing", []*checkpoint.Report{report(3, 7), report(2, 9, commit(8))}, false,
			known{Attempt: 3, Step: 7, Phase: "Training", Commit: "2/8", Urgency: later}},
		"an older attempt's commit behind a newer's": {"", []*checkpoint.Report{report(3, 7, commit(6)), report(2, 9, commit(8))}, false,
			known{Attempt: 3, Step: 7, Phase: "Training", Commit: "3/6", Urgency: nothing}},
		"an attempt that is over": {"draining adds its commit, not its steps", []*checkpoint.Report{report(2, 7), report(2, 9, commit(8))}, true,
			known{Attempt: 2, Step: 7, Phase: "Training", Commit: "2/8", Urgency: later}},
		"the first word, of an attempt that is over": {"", []*checkpoint.Report{report(2, 9, commit(8))}, true, known{Commit: "2/8", Urgency: later}},
		"completed": {"at once", []*checkpoint.Report{report(2, 9), report(2, 9, phase("Completed"))}, false,
			known{Attempt: 2, Step: 9, Phase: "Completed", Urgency: urgent, HeardOf: true, Wording: true}},
		"replayed: training after the end": {"the end stays", []*checkpoint.Report{report(2, 9), report(2, 9, phase("Completed")), report(2, 9)}, false,
			known{Attempt: 2, Step: 9, Phase: "Completed", Urgency: nothing, HeardOf: true}},
		"the first step": {"at once: the resume point was honoured, or not", []*checkpoint.Report{report(2, 0, phase("Starting")), report(2, 9, firstStep(9))}, false,
			known{Attempt: 2, Step: 9, Phase: "Training", FirstStep: 9, Urgency: urgent, HeardOf: true, Wording: true}},
		"the first step left out later": {"it is said once", []*checkpoint.Report{report(2, 9, firstStep(9)), report(2, 10)}, false,
			known{Attempt: 2, Step: 10, Phase: "Training", FirstStep: 9, Urgency: later, HeardOf: true}},
		"a command carried out": {"at once", []*checkpoint.Report{report(2, 9), report(2, 9, command("a"))}, false,
			known{Attempt: 2, Step: 9, Phase: "Training", Command: "a", Urgency: urgent, HeardOf: true, Wording: true}},
		"replayed: before the command": {"it stays carried out", []*checkpoint.Report{report(2, 9, command("a")), report(2, 9)}, false,
			known{Attempt: 2, Step: 9, Phase: "Training", Command: "a", Urgency: nothing, HeardOf: true}},
		"the resolver": {"no progress, no commit of an attempt", []*checkpoint.Report{report(2, 9, commit(8)), report(2, 0, phase("Resolved"), commit(4))}, false,
			known{Attempt: 2, Step: 9, Phase: "Training", Commit: "2/8", Resolved: 4, Urgency: later}},
		"the resolver of an older attempt": {"late", []*checkpoint.Report{report(3, 0, phase("Resolved"), commit(6)), report(2, 0, phase("Resolved"), commit(4))}, false,
			known{Resolved: 6, Urgency: nothing}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var k Received
			var what news
			for i, r := range tc.reports {
				k, what = k.merge(r, tc.over && i == len(tc.reports)-1, start.Add(time.Duration(i+1)*time.Second))
			}
			end, last := start.Add(time.Duration(len(tc.reports))*time.Second), tc.reports[len(tc.reports)-1]
			got := known{Urgency: what, HeardOf: k.Time.Equal(end)}
			if r := k.Report; r != nil {
				got.Attempt, got.Step, got.Phase, got.Command, got.Wording = r.Attempt, r.Step, r.Phase, r.CommandID, cmp.Equal(r, last)
				if r.FirstStep != nil {
					got.FirstStep = *r.FirstStep
				}
			}
			if c := k.Commit; c != nil {
				got.Commit = fmt.Sprintf("%d/%d", c.Attempt, c.Step)
			}
			if k.Resolved != nil {
				got.Resolved = k.Resolved.Checkpoint.Step
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestWakes: at once for what is urgent, else at most every 15 s and only when something is new.
func TestWakes(t *testing.T) {
	clock := testingclock.NewFakeClock(start)
	w := &world{t: t, clock: clock, inbox: NewInbox(clock), queue: newQueue()}
	bert := types.NamespacedName{Namespace: "team-a", Name: "bert"}
	var got []string
	say := func(after time.Duration, r *checkpoint.Report, unwritten bool) {
		clock.Step(after)
		w.inbox.take(bert, "uid-bert", r, false, unwritten)
		got = append(got, fmt.Sprintf("%s step %d: %v", clock.Since(start), r.Step, w.woken()))
	}
	w.inbox.take(bert, "uid-bert", report(1, 1), false, false) // before the controller runs
	if err := w.inbox.Start(t.Context(), w.queue); err != nil {
		t.Fatal(err)
	}
	got = append(got, fmt.Sprint("early: ", w.woken()))
	say(5*time.Second, report(1, 2), false)
	say(5*time.Second, report(1, 2), false)
	say(5*time.Second, report(1, 2), false) // nothing new, but what came before was not told yet
	say(20*time.Second, report(1, 2), false)
	say(20*time.Second, report(1, 3), false)
	say(time.Second, report(1, 3, firstStep(1)), false)
	say(time.Second, report(1, 3, firstStep(1), commit(3)), true)
	say(time.Second, report(1, 3, firstStep(1), commit(3)), true)
	say(time.Second, report(1, 3, firstStep(1), commit(3)), false)
	say(time.Second, report(1, 3, firstStep(1), commit(3), phase("Completed")), false)
	say(time.Hour, report(1, 3, firstStep(1), commit(3), phase("Completed")), false)
	want := []string{
		"early: [bert]",
		"5s step 2: []", "10s step 2: []", "15s step 2: [bert]", "35s step 2: []", "55s step 3: [bert]", "56s step 3: [bert]",
		"57s step 3: [bert]", "58s step 3: [bert]", "59s step 3: []", "1m0s step 3: [bert]", "1h1m0s step 3: []",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestInboxIsBounded: it forgets whom it has not heard of for longest, and whom it is told to.
func TestInboxIsBounded(t *testing.T) {
	i := NewInbox(testingclock.NewFakeClock(start))
	uid := func(n int) types.UID { return types.UID(fmt.Sprint(n)) }
	for n := range maxJobs + 1 {
		i.take(types.NamespacedName{Name: "job"}, uid(n), report(1, 1), false, false)
	}
	_, first := i.Latest(uid(0))
	_, second := i.Latest(uid(1))
	i.Forget(uid(2))
	_, third := i.Latest(uid(2))
	if first || !second || third {
		t.Errorf("remembered: the first %v, the second %v, the forgotten %v", first, second, third)
	}
}
