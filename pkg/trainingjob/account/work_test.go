package account

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// TestResumption: a gang that runs again after an interruption is counted, however short its runs are.
func TestResumption(t *testing.T) {
	begin := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	const (
		queued    = v1alpha1.PhaseQueued
		running   = v1alpha1.PhaseRunning
		draining  = v1alpha1.PhaseDraining
		suspended = v1alpha1.PhaseSuspended
	)
	// entry is the entry into a phase, in seconds from the beginning. The gang runs again after 10 s.
	type entry struct {
		phase v1alpha1.Phase
		at    int
	}
	for name, c := range map[string]struct {
		want    int64 // seconds from the interruption; -1: no resumption
		history []entry
	}{
		"never ran":           {-1, []entry{{queued, 0}}},
		"ended before it ran": {-1, []entry{{queued, 0}, {draining, 1}, {queued, 2}}},
		"interrupted":         {5, []entry{{queued, 0}, {running, 2}, {draining, 5}, {queued, 6}}},
		"within a second":     {5, []entry{{queued, 5}, {running, 5}, {draining, 5}, {queued, 5}}},
		"paused":              {-1, []entry{{queued, 0}, {running, 2}, {draining, 5}, {suspended, 6}, {queued, 7}}},
		"paused within a second": {-1, []entry{
			{queued, 5}, {running, 5}, {draining, 5},
			{suspended, 5}, {queued, 5},
		}},
		"paused and interrupted": {6, []entry{
			{queued, 0}, {running, 1}, {draining, 2}, {suspended, 2},
			{queued, 3}, {running, 4}, {draining, 4}, {queued, 4},
		}},
		"interrupted, not placed": {8, []entry{
			{queued, 0}, {running, 1}, {draining, 2},
			{queued, 3}, {draining, 7}, {queued, 7},
		}},
		"paused, not placed": {-1, []entry{
			{queued, 0}, {running, 1}, {draining, 2}, {suspended, 3},
			{queued, 4}, {draining, 7}, {queued, 7},
		}},
	} {
		job := &v1alpha1.TrainingJob{}
		for _, e := range c.history {
			at := metav1.NewTime(begin.Add(time.Duration(e.at) * time.Second))
			job.Status.Transitions = append(job.Status.Transitions, v1alpha1.Transition{Phase: e.phase, Time: at})
		}
		job.Status.Phase = queued
		o := &observation.Observation{Snapshot: observation.Snapshot{Job: job, Now: begin.Add(10 * time.Second)}}
		p := decision.NewPlan(o)
		p.Status.Phase = running
		recordWork(o, p, decision.Outcome{})
		got := int64(-1)
		if p.Status.Work.Resumptions > 0 {
			got = p.Status.Work.ResumeSeconds
		}
		if got != c.want {
			t.Errorf("%s: ran again after %d s, want %d", name, got, c.want)
		}
	}
}

// TestNothingIsLostTwice: a checkpoint that a gang resumed from is gone, and what it falls back to is older
// than a run whose end was counted as lost already.
func TestNothingIsLostTwice(t *testing.T) {
	begin := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	at := func(s int) metav1.Time { return metav1.NewTime(begin.Add(time.Duration(s) * time.Second)) }
	// A step takes a second. The first attempt runs for 100 s and saves at 50; the second resumes there, runs
	// from 110 to 200 and saves at 150; the third resumes from that, and runs from 210 to 300.
	job := jobtest.New(1, jobtest.Checkpoints)
	for _, e := range []struct {
		phase v1alpha1.Phase
		at    int
	}{
		{v1alpha1.PhaseRunning, 0}, {v1alpha1.PhaseDraining, 100}, {v1alpha1.PhaseQueued, 105},
		{v1alpha1.PhaseRunning, 110}, {v1alpha1.PhaseDraining, 200}, {v1alpha1.PhaseQueued, 205},
		{v1alpha1.PhaseRunning, 210}, {v1alpha1.PhaseDraining, 300},
	} {
		job.Status.Transitions = append(job.Status.Transitions,
			v1alpha1.Transition{Phase: e.phase, Time: at(e.at)})
	}
	first, second := at(50), at(150)
	older := &v1alpha1.CheckpointPoint{URI: "pvc://c/attempt-1/step-50", Step: 50, Time: &first}
	job.Status.Checkpoint = &v1alpha1.CheckpointStatus{
		ResumeFrom: &v1alpha1.CheckpointPoint{URI: "pvc://c/attempt-2/step-90", Step: 90, Time: &second},
	}
	job.Status.Work = &v1alpha1.WorkStatus{RunningSeconds: 280, LostSeconds: 100, Interruptions: 2}
	job.Status.Phase = v1alpha1.PhaseDraining
	for name, c := range map[string]struct {
		now  *v1alpha1.CheckpointPoint
		want int64
	}{
		"the second is gone": {older, 280 - 50},
		"both are gone":      {nil, 280},
	} {
		o := &observation.Observation{Snapshot: observation.Snapshot{Job: job, Now: begin.Add(310 * time.Second)}}
		p := decision.NewPlan(o)
		p.Status.Phase = v1alpha1.PhaseQueued
		recordWork(o, p, decision.Outcome{Settled: true, ResumePoint: c.now})
		if got := p.Status.Work.LostSeconds; got != c.want {
			t.Errorf("%s: %d s of 280 are lost, want %d", name, got, c.want)
		}
	}
}

// TestRecallsCount: also a gang that did not run yet has returned lent capacity. On Kueue its next attempt
// gets other quota.
func TestRecallsCount(t *testing.T) {
	for _, before := range []v1alpha1.Phase{v1alpha1.PhaseStarting, v1alpha1.PhaseRunning} {
		for _, recalls := range []bool{false, true} {
			job := jobtest.New(1, jobtest.Checkpoints)
			begin := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
			job.Status.Phase = v1alpha1.PhaseDraining
			job.Status.Transitions = []v1alpha1.Transition{
				{Phase: before, Time: metav1.NewTime(begin)},
				{Phase: v1alpha1.PhaseDraining, Time: metav1.NewTime(begin.Add(time.Minute))},
			}
			job.Status.Drain = &v1alpha1.DrainStatus{
				Cause: v1alpha1.CauseBrokered, MakesRoom: &v1alpha1.MakesRoomStatus{Recalls: recalls},
			}
			now := begin.Add(2 * time.Minute)
			o := &observation.Observation{Snapshot: observation.Snapshot{Job: job, Now: now}}
			p := decision.NewPlan(o)
			p.Status.Phase = v1alpha1.PhaseQueued
			recordWork(o, p, decision.Outcome{Settled: true})
			got := p.Status.Work != nil && p.Status.Work.Recalled == 1
			if got != recalls {
				t.Errorf("after %s: recalled %t, want %t: %+v", before, got, recalls, p.Status.Work)
			}
		}
	}
}

// TestTornSaveTellsOfItsSteps: a checkpoint that the attempt saved, and that is torn when the next one
// looks for it, was trained up to, whatever progress was reported.
func TestTornSaveTellsOfItsSteps(t *testing.T) {
	at := func(s int) metav1.Time {
		return metav1.NewTime(time.Date(2026, 11, 21, 9, 0, s, 0, time.UTC))
	}
	point := func(step int64) *v1alpha1.CheckpointPoint { return &v1alpha1.CheckpointPoint{Step: step} }
	for name, c := range map[string]struct {
		resumed, latest, now *v1alpha1.CheckpointPoint
		reported             int64 // 0: nothing
		want                 int64
	}{
		"nothing reported":        {nil, point(50), point(40), 0, 10},
		"reported before":         {nil, point(50), point(40), 41, 10},
		"reported beyond":         {nil, point(50), point(40), 53, 13},
		"none is whole":           {nil, point(50), nil, 0, 50},
		"saved since it resumed":  {point(40), point(50), point(40), 0, 10},
		"saved nothing":           {point(40), point(40), point(40), 0, 0},
		"saved nothing, reported": {point(40), point(40), point(40), 45, 5},
	} {
		job := jobtest.New(1, jobtest.Checkpoints)
		job.Status.Phase, job.Status.Attempt = v1alpha1.PhaseDraining, 1
		job.Status.Transitions = []v1alpha1.Transition{
			{Phase: v1alpha1.PhaseRunning, Time: at(0)}, {Phase: v1alpha1.PhaseDraining, Time: at(20)},
		}
		job.Status.Checkpoint = &v1alpha1.CheckpointStatus{ResumeFrom: c.resumed, Latest: c.latest}
		if c.reported > 0 {
			job.Status.Progress = &v1alpha1.ProgressStatus{Attempt: 1, Step: c.reported}
		}
		o := &observation.Observation{Snapshot: observation.Snapshot{Job: job, Now: at(30).Time}}
		p := decision.NewPlan(o)
		p.Status.Phase = v1alpha1.PhaseQueued
		recordWork(o, p, decision.Outcome{Settled: true, ResumePoint: c.now})
		if got := p.Status.Work.LostSteps; got != c.want {
			t.Errorf("%s: %d steps are lost, want %d", name, got, c.want)
		}
	}
}

func TestSuggestedInterval(t *testing.T) {
	cases := map[string]struct {
		save          int32
		running       int64
		interruptions int32
		want          int32
	}{
		"Young's own example, 1974: 10 s, 24 h":   {10, 86400, 1, 1314},
		"half the time between interruptions":     {10, 86400, 2, 929},
		"not less than a save takes":              {600, 100, 1, 600},
		"a save of a second, interrupted all day": {1, 3600, 60, 10},
		"the largest numbers still give one":      {1 << 30, 1 << 62, 1, 1<<31 - 1},
	}
	for name, c := range cases {
		if got := suggestedInterval(c.save, c.running, c.interruptions); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

// TestPlacedAfterYield: a gang that is placed while it has a plan got freed capacity.
func TestPlacedAfterYield(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC))
	for name, c := range map[string]struct {
		reason   string
		from, to v1alpha1.Phase
		phase    v1alpha1.PreemptionPhase
		want     bool
	}{
		"placed":          {"its victims have gone", "Queued", "Running", v1alpha1.PreemptionPlacing, true},
		"starts":          {"it has its nodes", "Queued", "Starting", v1alpha1.PreemptionReleasing, true},
		"runs after that": {"it was counted", "Starting", "Running", v1alpha1.PreemptionPlacing, false},
		"a dry run":       {"no gang yielded", "Queued", "Running", "", false},
		"handed over":     {"its scheduler did", "Queued", "Running", v1alpha1.PreemptionHandedOver, false},
		"suspended":       {"it waits no longer", "Queued", "Suspended", v1alpha1.PreemptionAsking, false},
	} {
		job := &v1alpha1.TrainingJob{}
		job.Status.Phase = c.from
		job.Status.Scheduling = &v1alpha1.SchedulingStatus{
			Preemption: &v1alpha1.PreemptionStatus{Phase: c.phase, BlockedTime: &at},
		}
		since, made := placedAfterYield(job, c.to)
		if made != c.want || made && !since.Equal(at.Time) {
			t.Errorf("%s: %t since %s: %s", name, made, since, c.reason)
		}
	}
}
