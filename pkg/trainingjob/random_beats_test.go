package trainingjob

import (
	"math/rand/v2"
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// watchRandomly gives some jobs with checkpoints a liveness mode, within a random limit.
func (sim *simulation) watchRandomly(rng *rand.Rand) {
	modes := []v1alpha1.LivenessMode{v1alpha1.LivenessOff, v1alpha1.LivenessWarn, v1alpha1.LivenessAct}
	mode, limit := modes[rng.IntN(3)], modes[rng.IntN(3)]
	if rng.IntN(3) == 0 {
		mode, limit = v1alpha1.LivenessAct, v1alpha1.LivenessAct
	}
	gang := spec.Scope(sim.job) == v1alpha1.ScopeGang
	if spec.Checkpoints(sim.job) == nil || sim.agent.ReportURL == "" || mode == v1alpha1.LivenessAct && !gang {
		return
	}
	livenessMode(mode)(sim.job)
	sim.watch(limit)
}

// randomBeats plays trainers and their agents: stalls, ranks that send no beats, other jobs that hang, and a
// new leader.
func (sim *simulation) randomBeats(rng *rand.Rand) {
	if sim.beats == nil || sim.job.Status.Phase.Finished() {
		return
	}
	sim.shouldCrash = func() bool { return false }
	var names []string
	for name := range sim.runningTrainers() {
		names = append(names, name)
	}
	slices.Sort(names)
	switch n := rng.IntN(10); {
	case n < 3 && len(names) > 0:
		sim.stall(names[rng.IntN(len(names))])
		sim.pass([]time.Duration{time.Minute, 18 * time.Minute}[rng.IntN(2)])
	case n == 3:
		sim.stalled = false
		sim.logf("the training continues")
	case n == 4 && len(names) > 0:
		tr := sim.trainerOf(names[rng.IntN(len(names))])
		tr.silent = !tr.silent
	case n == 5:
		sim.restartOperator()
	case n == 6:
		sim.hangs = &observation.Hangs{
			Watched: 1 + rng.IntN(20), Running: 20, Together: 1 + rng.IntN(4), Restarts: rng.IntN(4),
		}
	case n == 7:
		sim.pass(25 * time.Minute)
	default:
		sim.pass(time.Duration(1+rng.IntN(4)) * time.Minute)
	}
}

// checkLiveness checks the invariants of status.liveness between two statuses.
func (sim *simulation) checkLiveness(to v1alpha1.TrainingJobStatus) {
	sim.t.Helper()
	from := sim.job.Status
	was, is := v1alpha1.LivenessStatus{}, v1alpha1.LivenessStatus{}
	if from.Liveness != nil {
		was = *from.Liveness
	}
	if to.Liveness != nil {
		is = *to.Liveness
	}
	mode := spec.LivenessMode(sim.job, sim.agent.Liveness, sim.agent.MaxLiveness)
	restarts := from.Phase != v1alpha1.PhaseDraining && to.Drain != nil && to.Drain.Cause == v1alpha1.CauseHang
	switch {
	case mode == v1alpha1.LivenessOff && to.Liveness != nil && from.Liveness == nil:
		sim.t.Errorf("mode Off, and the status has %+v", is)
	case restarts && is.Restarts != was.Restarts+1,
		!restarts && to.Liveness != nil && is.Restarts != was.Restarts:
		sim.t.Errorf("%d hang restarts became %d", was.Restarts, is.Restarts)
	case is.Restarts > spec.HangRestarts(sim.job) || is.RestartsWithoutProgress > 2:
		sim.t.Errorf("%d hang restarts, %d in a row without progress", is.Restarts, is.RestartsWithoutProgress)
	case len(is.Suspects) > 8 || len(is.NamedNodes) > 8:
		sim.t.Errorf("%d suspects and %d named nodes", len(is.Suspects), len(is.NamedNodes))
	case is.State != "" && to.Phase != v1alpha1.PhaseRunning:
		sim.t.Errorf("state %s in phase %s", is.State, to.Phase)
	}
	hung := 0
	if d := to.Disruptions; d != nil {
		for _, e := range d.ExcludedNodes {
			if e.Reason == "Hung" {
				hung++
			}
		}
	}
	if hung > 2 {
		sim.t.Errorf("%d nodes are excluded for hangs", hung)
	}
	if restarts {
		sim.checkHangRestart(mode)
	}
}

// checkHangRestart checks that the operator may restart the gang for a hang now.
func (sim *simulation) checkHangRestart(mode v1alpha1.LivenessMode) {
	sim.t.Helper()
	sim.hangRestarts++
	if st := sim.job.Status; mode != v1alpha1.LivenessAct || st.Phase != v1alpha1.PhaseRunning ||
		spec.Scope(sim.job) != v1alpha1.ScopeGang {
		sim.t.Errorf("a restart for a hang in mode %s and phase %s", mode, st.Phase)
	}
	if led := sim.now.Sub(sim.leadsSince); led < 10*time.Minute {
		sim.t.Errorf("a restart for a hang, %s after the process became the leader", led)
	}
	if h := sim.hangs; h.Restarts >= 3 || h.Together >= 3 && h.Together*5 >= h.Watched {
		sim.t.Errorf("a restart for a hang, and the cluster has %+v", h)
	}
	for name, tr := range sim.runningTrainers() {
		if idle := sim.now.Sub(tr.progressed); !tr.silent && idle < 15*time.Minute {
			sim.t.Errorf("a restart for a hang, and %s made progress %s ago", name, idle)
		}
	}
}
