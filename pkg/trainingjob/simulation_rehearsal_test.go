package trainingjob

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// rehearsalJob returns a job that is a rehearsal in the given ways; none: the default ones.
func rehearsalJob(ways ...v1alpha1.RehearsalWay) *v1alpha1.TrainingJob {
	return jobtest.New(2, jobtest.Checkpoints, func(j *v1alpha1.TrainingJob) {
		j.Spec.Rehearsal = &v1alpha1.RehearsalPolicy{Ways: ways}
	})
}

// rehearser plays the trainer of a rehearsal and its agents: a step takes half a second, a checkpoint is
// saved every 40 steps and on request.
type rehearser struct {
	*simulation
	// step that is finished; saves of the attempt; evidence of the attempt and of the one before.
	step     int64
	evidence map[int32]*checkpoint.Evidence
	// attempt that trains.
	attempt int32
	// command that was carried out last.
	done string
	// Faults of the trainer.
	ignoresResume, savesNothing, deaf, silent, leavesTorn bool
	// unreachable: no request to save and exit reaches the trainer.
	unreachable bool

	// lastStep of the training; 0: none.
	lastStep int64
}

func rehearse(sim *simulation) *rehearser {
	sim.checksOwners = 3
	return &rehearser{simulation: sim, evidence: map[int32]*checkpoint.Evidence{}}
}

// run plays the rehearsal to its end.
func (r *rehearser) run() { r.runUntil(func() bool { return false }) }

// runUntil plays the rehearsal until a condition holds or the job ends, for at most a day.
func (r *rehearser) runUntil(stop func() bool) {
	r.t.Helper()
	for end := r.now.Add(24 * time.Hour); r.now.Before(end); r.now = r.now.Add(5 * time.Second) {
		r.converge()
		if r.job.Status.Phase.Finished() || stop() {
			return
		}
		r.runRanksOnce()
		r.train()
	}
	r.t.Error("the rehearsal does not end")
}

// runRanksOnce plays scheduler, kubelets and the search of the volume, without a log.
func (r *rehearser) runRanksOnce() {
	r.removeTerminating()
	for _, p := range slices.Clone(r.pods) {
		switch {
		case p.Spec.NodeName == "" && p.Name != "bert-resolve" && r.gangIsComplete():
			r.bindTo("node-"+p.Name, p.Name)
		case p.Status.Phase == corev1.PodPending && (p.Spec.NodeName != "" || p.Name == "bert-resolve"):
			log := r.log.String()
			if p.Name == "bert-resolve" {
				r.finishSearch()
			} else {
				r.start(p.Name)
			}
			r.log.Reset()
			r.log.WriteString(log)
		}
	}
}

// train finishes ten steps, if rank 0 runs, reports them and obeys the command in the answer.
func (r *rehearser) train() {
	p := r.findPod("bert-worker-0")
	if p == nil || p.Status.Phase != "Running" || p.DeletionTimestamp != nil || trainerEnded(p) ||
		r.job.Status.Phase != v1alpha1.PhaseRunning && r.job.Status.Phase != v1alpha1.PhaseDraining {
		return
	}
	if r.attempt != r.job.Status.Attempt {
		r.begin()
		if trainerEnded(r.findPod("bert-worker-0")) {
			return
		}
	}
	if r.lastStep > 0 && r.step >= r.lastStep {
		r.logf("the trainer completes all %d steps", r.step)
		r.terminate(completed(), r.rankNames()...)
		return
	}
	r.step += 10
	if r.step%40 == 0 {
		r.save()
	}
	r.post()
	r.obey()
}

// begin starts the trainer of an attempt at its resume point.
func (r *rehearser) begin() {
	r.attempt, r.step = r.job.Status.Attempt, resumeStep(r.job.Status)
	if before := r.evidence[r.attempt-1]; before != nil && before.CutOffComplete {
		r.logf("the trainer of attempt %d fails to load step %d", r.attempt, r.step)
		r.evidence[r.attempt] = &checkpoint.Evidence{Attempt: r.attempt, Ranks: 2}
		r.endAs(1)
		return
	}
	if r.ignoresResume {
		r.step = 0
	}
	first := r.step + 1
	e := &checkpoint.Evidence{
		Attempt: r.attempt, FirstStep: &first, StepMilliseconds: 500, StartMilliseconds: 3000,
		Ranks: 2, WritingRanks: 2,
	}
	if resumeStep(r.job.Status) > 0 && !r.ignoresResume {
		e.LoadedRanks, e.CommonSteps, e.CommonBatches = 2, 20, 20
	}
	if r.silent {
		e.FirstStep, e.StepMilliseconds, e.StartMilliseconds, e.CommonSteps, e.CommonBatches = nil, 0, 0, 0, 0
	}
	r.evidence[r.attempt] = e
	r.logf("attempt %d begins at step %d", r.attempt, first)
}

func (r *rehearser) save() {
	ofStep := func(s savedCheckpoint) bool { return s.attempt == r.attempt && s.step == r.step }
	if r.savesNothing || r.newestComplete(ofStep) != nil {
		return
	}
	r.saveCheckpoint(r.step)
	r.evidence[r.attempt].Saves++
	r.evidence[r.attempt].SaveMilliseconds = 8000
}

// post sends the report of rank 0's agent.
func (r *rehearser) post() {
	e := r.evidence[r.attempt]
	report := checkpoint.Report{
		Attempt: r.attempt, Phase: checkpoint.PhaseStarting, FirstStep: e.FirstStep, CommandID: r.done,
	}
	if e.FirstStep != nil {
		e.LastStep = new(r.step)
		report.Phase, report.Step, report.StepSeconds = checkpoint.PhaseTraining, r.step, 0.5
	}
	ofAttempt := func(s savedCheckpoint) bool { return s.attempt == r.attempt }
	if s := r.newestComplete(ofAttempt); s != nil {
		report.Checkpoint = s.commit()
	}
	for _, n := range []int32{r.attempt - 1, r.attempt} {
		if e := r.evidence[n]; e != nil {
			report.Rehearsal = append(report.Rehearsal, *e)
		}
	}
	r.report = &observation.Reported{Report: report, Received: r.now}
}

// obey carries out the command in the answer to the report.
func (r *rehearser) obey() {
	a := decision.Answer(r.job)
	if a.Command == checkpoint.CommandNone || a.ID == r.done {
		return
	}
	e := r.evidence[r.attempt]
	switch a.Command {
	case checkpoint.CommandKill:
		r.logf("at step %d the agent kills the trainer", r.step)
		r.endAs(137)
	case checkpoint.CommandKillInSave:
		torn := r.saveCheckpoint(r.step + 1)
		e.CutOffPath, e.CutOffMilliseconds, e.CutOffTries = torn.uri(), 1200, 1
		e.CompleteLeft = new(int32(2))
		if e.CutOffComplete = r.leavesTorn; !r.leavesTorn {
			r.tearNewest()
		}
		r.logf("in that save the agent kills the trainer")
		r.endAs(137)
	case checkpoint.CommandCheckpoint:
		if !r.deaf && !r.silent {
			r.done = a.ID
			r.save()
		}
	case checkpoint.CommandCheckpointAndExit:
		if e.Requested = !r.unreachable; r.unreachable {
			return
		}
		if r.deaf || r.silent {
			return
		}
		r.done = a.ID
		r.save()
		e.CompleteLeft = new(int32(3))
		r.endAs(0)
	}
}

// endAs ends the trainer of rank 0 with an exit code.
func (r *rehearser) endAs(code int32) {
	r.evidence[r.attempt].ExitCode = &code
	r.post()
	r.terminate(exited(code), "bert-worker-0")
}

// missRequest lets an attempt drain without the request to save and exit, so that the trainer saves at
// SIGTERM, after the deadline. reports: the operator gets the last report of that attempt's agent. Otherwise
// it is away, and only the trace is left.
func (r *rehearser) missRequest(attempt int32, reports bool) {
	r.unreachable, r.podsLinger = true, true
	r.runUntil(func() bool {
		p := r.findPod("bert-worker-0")
		return r.at(attempt, v1alpha1.PhaseDraining)() && p != nil && p.DeletionTimestamp != nil
	})
	r.logf("the trainer of attempt %d gets SIGTERM, and no request before it", attempt)
	r.save()
	r.evidence[attempt].ExitCode = new(int32(0))
	if r.post(); !reports {
		r.report = nil
	}
	r.terminate(exited(0), "bert-worker-0", "bert-worker-1")
	if !reports {
		r.loseAllPods()
	}
	r.unreachable, r.podsLinger = false, false
}

// endWhileAway lets the trainer save at SIGTERM and exit with a code while there is no operator. The pods are
// deleted before it returns. traced: the agent leaves the code on the volume.
func (r *rehearser) endWhileAway(code int32, traced bool) {
	r.podsLinger = true
	r.runUntil(r.at(1, v1alpha1.PhaseDraining))
	r.logf("the operator is away")
	r.save()
	if traced {
		r.evidence[r.attempt].ExitCode = &code
	}
	r.terminate(exited(code), "bert-worker-0", "bert-worker-1")
	r.loseAllPods()
	r.podsLinger, r.report = false, nil
}

// logRehearsal logs status.rehearsal and the condition.
func (r *rehearser) logRehearsal() {
	st := r.job.Status.Rehearsal
	if st == nil {
		r.logf("= no rehearsal")
		return
	}
	number := func(n *int64) string {
		if n == nil {
			return "-"
		}
		return fmt.Sprint(*n)
	}
	for _, a := range st.Attempts {
		code := "-"
		if a.ExitCode != nil {
			code = fmt.Sprint(*a.ExitCode)
		}
		r.logf("= attempt %d: way=%s interrupted=%t resume=%s end=%s %s saved=%s after=%s ended=%s exit=%s %s",
			a.Attempt, a.Way, a.Interrupted, number(a.ResumeStep), number(a.EndStep), a.EndPhase,
			number(a.SavedStep), number(a.SavedAfterSeconds), number(a.EndedAfterSeconds), code, a.Failure)
	}
	for _, c := range st.Checks {
		r.logf("= %s %s (%d): %s", c.Name, c.Outcome, c.Attempt, c.Message)
	}
	for _, c := range r.job.Status.Conditions {
		if c.Type == v1alpha1.ConditionRehearsed {
			r.logf("= result=%s Rehearsed=%s %s: %s", st.Result, c.Status, c.Reason, c.Message)
		}
	}
	w := v1alpha1.WorkStatus{}
	if r.job.Status.Work != nil {
		w = *r.job.Status.Work
	}
	r.logf("= interruptions=%d lostSteps=%d resumptions=%d", w.Interruptions, w.LostSteps, w.Resumptions)
}

// checkRehearsal checks the invariants of two successive statuses of a rehearsal.
func (sim *simulation) checkRehearsal(to v1alpha1.TrainingJobStatus) {
	sim.t.Helper()
	if !spec.IsRehearsal(sim.job) {
		if to.Rehearsal != nil {
			sim.t.Error("a job that is no rehearsal has a status of one")
		}
		return
	}
	from, policy := sim.job.Status, spec.Rehearsal(sim.job)
	d := from.Drain
	if d != nil && d.Cause == v1alpha1.CauseRehearsal && (to.Restarts != from.Restarts ||
		to.Preemptions != from.Preemptions || to.Phase == v1alpha1.PhaseRestarting) {
		sim.t.Errorf("a way spends a restart or a preemption, or waits: %+v", to)
	}
	r := to.Rehearsal
	if r == nil {
		return
	}
	if most := len(policy.Ways) + 3; len(r.Attempts) > most {
		sim.t.Errorf("%d attempts, more than %d", len(r.Attempts), most)
	}
	passed := to.Phase == v1alpha1.PhaseSucceeded
	if passed != (r.Result == v1alpha1.RehearsalResultPassed) || (r.Result != "") != to.Phase.Finished() {
		sim.t.Errorf("phase %s, result %q", to.Phase, r.Result)
	}
	for _, a := range r.Attempts {
		if strings.HasPrefix(string(a.Way), "Kill") && a.Evidence == nil && passed {
			sim.t.Errorf("attempt %d passed without evidence", a.Attempt)
		}
	}
}
