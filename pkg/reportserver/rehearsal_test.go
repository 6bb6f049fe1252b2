package reportserver

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// TestCommandsOfRehearsals: only the agent of a rehearsal is commanded to kill its trainer.
func TestCommandsOfRehearsals(t *testing.T) {
	cases := map[string]struct {
		rehearsal bool
		way       v1alpha1.RehearsalWay
		want      string
	}{
		"Kill":             {true, v1alpha1.RehearsalKill, `"command":"Kill"`},
		"KillInSave":       {true, v1alpha1.RehearsalKillInSave, `"command":"KillInSave"`},
		"Ask":              {true, v1alpha1.RehearsalAsk, `"command":"CheckpointAndExit"`},
		"of another job":   {false, v1alpha1.RehearsalKill, `"command":"CheckpointAndExit"`},
		"the last attempt": {true, "", `"command":"CheckpointAndExit"`},
	}
	for name, c := range cases {
		e := newEnvironment(t)
		change(e, "bert", func(j *v1alpha1.TrainingJob) {
			if c.rehearsal {
				j.Spec.Rehearsal = &v1alpha1.RehearsalPolicy{}
			}
			j.Status.Phase = v1alpha1.PhaseDraining
			j.Status.Drain = &v1alpha1.DrainStatus{
				Cause: v1alpha1.CauseRehearsal, Way: c.way, CommandID: "rehearsal-2",
			}
		})
		rec := e.do(post(training))
		if answer := text(rec.Body); rec.Code != http.StatusOK || !strings.Contains(answer, c.want) {
			t.Errorf("%s: %d %s, want %s", name, rec.Code, answer, c.want)
		}
	}
}

// TestEvidenceIsKept: a rehearsal's evidence reaches the reconciler sooner than other news, and a report
// without evidence does not remove it.
func TestEvidenceIsKept(t *testing.T) {
	clock := testingclock.NewFakeClock(start)
	e := &environment{t: t, clock: clock, store: newStore(clock), queue: newQueue()}
	if err := e.store.Start(t.Context(), e.queue); err != nil {
		t.Fatal(err)
	}
	add := func(r *checkpoint.Report) []string {
		clock.Step(rehearsalInterval)
		e.store.add(types.NamespacedName{Name: "bert"}, "uid-bert", r, false, false)
		return e.woken()
	}
	seen := report(2, 5)
	seen.Rehearsal = []checkpoint.Evidence{{Attempt: 2, Saves: 1}}
	add(seen)
	more := report(2, 6)
	more.Rehearsal = []checkpoint.Evidence{{Attempt: 2, Saves: 2}}
	if woken := add(more); len(woken) != 1 {
		t.Errorf("woken: %v, want bert after %s", woken, rehearsalInterval)
	}
	add(report(2, 7))
	clock.Step(time.Minute)
	add(report(2, 8))
	latest, _ := e.store.Latest("uid-bert")
	if latest.Step != 8 || len(latest.Rehearsal) != 1 || latest.Rehearsal[0].Saves != 2 {
		t.Errorf("latest: %+v", latest.Report)
	}
}
