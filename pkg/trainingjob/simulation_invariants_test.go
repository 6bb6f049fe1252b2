package trainingjob

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// The numbers of invariants are those of the package documentation.

// checkPlan checks the invariants of a single plan.
func (sim *simulation) checkPlan(plan Plan) {
	sim.t.Helper()
	st := sim.job.Status
	if plan.Transition && (len(plan.Create) > 0 || len(plan.Delete) > 0) {
		sim.t.Errorf("a transition must commit alone, it creates %d and deletes %d pods",
			len(plan.Create), len(plan.Delete))
	}
	if r := plan.WakeScheduler; r != nil && (plan.Transition || st.Phase != v1alpha1.PhaseQueued ||
		sim.now.Sub(sim.woken.Last) < 10*time.Second) {
		sim.t.Errorf("wakes the scheduler in phase %s, last at %s, now %s", st.Phase, sim.woken.Last, sim.now)
	}
	if len(plan.Create) == 0 {
		return
	}
	if sim.verdict.Admission != scheduler.Go {
		sim.t.Errorf("invariant 1: creates %d pods under %s", len(plan.Create), sim.verdict.Admission)
	}
	if sim.unplaceable != nil && st.Phase == v1alpha1.PhaseQueued && !sim.anyOnNode() {
		sim.t.Errorf("creates %d pods that no node can take", len(plan.Create))
	}
	if b := sim.backfill; b != nil && st.Phase == v1alpha1.PhaseQueued && !sim.anyOnNode() &&
		(b.Held != nil || b.AwaitsPass(&st)) {
		sim.t.Errorf("creates %d pods of a gang that is held, or whose pass is not written", len(plan.Create))
	}
	if st.Phase.Finished() || st.Phase == v1alpha1.PhaseSuspended || st.Phase == v1alpha1.PhaseDraining {
		sim.t.Errorf("invariant 1: creates pods in phase %s", st.Phase)
	}
	if plan.Status.Attempt != st.Attempt {
		sim.t.Errorf("invariant 1: creates pods for attempt %d, persisted is %d", plan.Status.Attempt, st.Attempt)
	}
	for _, pod := range sim.pods {
		attempt := pod.Labels[v1alpha1.LabelAttempt]
		if attempt != fmt.Sprint(st.Attempt) && !observation.Ended(pod) && !render.IsResolver(pod) {
			sim.t.Errorf("invariant 2: creates pods while %s of attempt %s exists", pod.Name, attempt)
		}
	}
}

// anyOnNode reports whether a rank of the current attempt has a node or has had one.
func (sim *simulation) anyOnNode() bool {
	return slices.ContainsFunc(sim.pods, func(p *corev1.Pod) bool {
		return p.Spec.NodeName != "" && p.Labels[v1alpha1.LabelAttempt] == fmt.Sprint(sim.job.Status.Attempt)
	})
}

// checkStatus checks the invariants of two successive statuses.
func (sim *simulation) checkStatus(to v1alpha1.TrainingJobStatus) {
	sim.t.Helper()
	sim.checkSuccess(to)
	sim.checkBackoff(to)
	sim.checkLiveness(to)
	sim.checkRehearsal(to)
	from, gang := sim.job.Status, spec.Scope(sim.job) == v1alpha1.ScopeGang
	switch {
	case from.Phase.Finished() && to.Phase != from.Phase:
		sim.t.Errorf("invariant 5: %s became %s", from.Phase, to.Phase)
	case to.Attempt < from.Attempt || to.Attempt > from.Attempt+1:
		sim.t.Errorf("attempt went from %d to %d", from.Attempt, to.Attempt)
	case to.Restarts < from.Restarts || to.Preemptions < from.Preemptions:
		sim.t.Errorf("invariant 4: a counter fell: %+v -> %+v", from, to)
	case gang && to.Restarts > from.Restarts+1:
		sim.t.Errorf("invariant 4: one failure spent %d restarts", to.Restarts-from.Restarts)
	case gang && to.Restarts > from.Restarts && to.Attempt != from.Attempt+1:
		sim.t.Errorf("invariant 4: a restart is spent without a new attempt")
	}
}

// checkBackoff checks that a gang with repeated disruptions and no progress waits, at most six minutes.
func (sim *simulation) checkBackoff(to v1alpha1.TrainingJobStatus) {
	sim.t.Helper()
	d, in := sim.job.Status.Drain, to.Disruptions
	if d == nil || d.Cause != v1alpha1.CauseDisruption || d.Reason == v1alpha1.ReasonPreempted || in == nil {
		return
	}
	if to.Phase == v1alpha1.PhaseQueued && in.InARow > 1 {
		sim.t.Errorf("disrupted %d times in a row without progress, and queued at once", in.InARow)
	}
	if n := len(in.ExcludedNodes); n > 8 {
		sim.t.Errorf("%d nodes are excluded", n)
	}
	if at := to.NextAttemptTime; at != nil && at.Sub(sim.now) > 6*time.Minute {
		sim.t.Errorf("waits %s after a disruption", at.Sub(sim.now))
	}
}

// checkSuccess checks that a job succeeds only if its deciding ranks exited 0 before they were stopped, or
// rank 0 reported the last step.
func (sim *simulation) checkSuccess(to v1alpha1.TrainingJobStatus) {
	sim.t.Helper()
	d := sim.job.Status.Drain
	if to.Phase != v1alpha1.PhaseSucceeded || sim.job.Status.Phase == to.Phase || d != nil && d.Completed ||
		spec.IsRehearsal(sim.job) { // it ends with its result, see checkRehearsal
		return
	}
	roles := spec.Admitted(spec.Roles(sim.job), sim.verdict.Admitted)
	decides := spec.Decides(sim.job.Spec.SuccessPolicy, roles, spec.Elastic(sim.job))
	for _, role := range roles {
		for i := range role.Replicas {
			rank := spec.RankRef{Role: role.Name, Index: i}
			name := spec.PodName(sim.job.Name, rank)
			if decides(rank) && !sim.succeeded[sim.rankKey(name)] && !sim.completed {
				sim.t.Errorf("the job succeeded, and %s was stopped before it exited 0", name)
			}
		}
	}
}

// checkResumePoint checks that resume points only move forward, and not within an attempt. A resume point is
// the newest complete checkpoint, unless the status has CheckpointUnknown.
func (sim *simulation) checkResumePoint(to v1alpha1.TrainingJobStatus) {
	sim.t.Helper()
	if sim.checkpointLost {
		return
	}
	from := sim.job.Status
	was, is := resumeStep(from), resumeStep(to)
	if r := requested(to); r != requested(from) && r != "" && to.Checkpoint.Requested.Problem == "" {
		if sim.chosen++; r != fmt.Sprint(is) && r != to.Checkpoint.ResumeFrom.URI {
			sim.t.Errorf("the user chose %s, and attempt %d resumes from step %d", r, to.Attempt, is)
		}
	}
	if is < was && !wentBack(from, to) {
		sim.t.Errorf("invariant 7: the resume point went back from step %d to %d", was, is)
	}
	if is != was && to.Attempt == from.Attempt && !to.Phase.Finished() {
		sim.t.Errorf("the resume point of attempt %d moved from step %d to %d", to.Attempt, was, is)
	}
	c := spec.Checkpoints(sim.job)
	if c == nil || !spec.OnVolume(c) || to.Attempt <= from.Attempt {
		return
	}
	unknown := conditionReason(to, v1alpha1.ConditionCheckpointUnknown)
	sim.resumeReasons[unknown]++
	best := sim.newestComplete(allowedBy(branchOf(to)))
	if best != nil && best.step != is && unknown != v1alpha1.ReasonUnresolved {
		sim.t.Errorf("attempt %d resumes from step %d, the newest complete checkpoint is of step %d, "+
			"without CheckpointUnknown", to.Attempt, is, best.step)
	}
}

// requested returns the resume point that the user chose and that was searched.
func requested(st v1alpha1.TrainingJobStatus) string {
	if st.Checkpoint == nil || st.Checkpoint.Requested == nil {
		return ""
	}
	return st.Checkpoint.Requested.ResumeFrom
}

// wentBack reports whether a new branch sets the training back to an older checkpoint.
func wentBack(from, to v1alpha1.TrainingJobStatus) bool {
	was, is := branchOf(from), branchOf(to)
	return is != was && is.BranchAttempt > from.Attempt && is.BranchStep == resumeStep(to)
}

// branchOf returns the branch of a status as a selection.
func branchOf(st v1alpha1.TrainingJobStatus) checkpoint.Selection {
	if st.Checkpoint == nil || st.Checkpoint.Branch == nil {
		return checkpoint.Selection{}
	}
	return checkpoint.Selection{
		BranchAttempt: st.Checkpoint.Branch.Attempt, BranchStep: st.Checkpoint.Branch.Step,
	}
}

// resumeStep returns the step of the resume point, or 0.
func resumeStep(st v1alpha1.TrainingJobStatus) int64 {
	if st.Checkpoint == nil || st.Checkpoint.ResumeFrom == nil {
		return 0
	}
	return st.Checkpoint.ResumeFrom.Step
}

// checkResumePath checks that all ranks of an attempt get the same checkpoint, and that it is complete. Under
// scope Rank a rank that is created later can get a later one.
func (sim *simulation) checkResumePath(pod *corev1.Pod) {
	sim.t.Helper()
	trainer := spec.Framework(sim.job).Trainer(&pod.Spec)
	i := slices.IndexFunc(trainer.Env, func(e corev1.EnvVar) bool { return e.Name == checkpoint.EnvResume })
	if i < 0 {
		return
	}
	path, attempt := trainer.Env[i].Value, sim.job.Status.Attempt
	gang := spec.Scope(sim.job) == v1alpha1.ScopeGang
	if other, known := sim.resumePaths[attempt]; known && other != path && gang {
		sim.t.Errorf("ranks of attempt %d resume from %q and from %q", attempt, other, path)
	}
	if sim.resumePaths[attempt] != path {
		sim.logf("  attempt %d resumes from %s", attempt, path)
	}
	sim.resumePaths[attempt] = path
	if path == "" || !spec.OnVolume(sim.job.Spec.Checkpoint) {
		return
	}
	complete := slices.ContainsFunc(sim.volume, func(s savedCheckpoint) bool {
		inClaim := strings.TrimPrefix(s.uri(), "pvc://bert-checkpoints")
		return !s.torn && inClaim == strings.TrimPrefix(path, "/checkpoints")
	})
	if !complete {
		sim.t.Errorf("invariant 7: attempt %d resumes from %s, which is not complete", attempt, path)
	}
}

// checkNamesOf checks that no host name belongs to a rank of another attempt.
func (sim *simulation) checkNamesOf(attempt int32) {
	sim.t.Helper()
	if sim.namesOf != 0 && sim.namesOf != attempt {
		sim.t.Errorf("invariant 8: a rank of attempt %d is created while attempt %d has names", attempt,
			sim.namesOf)
	}
}

// checkNames checks that all ranks of a running gang have a host name.
func (sim *simulation) checkNames() {
	sim.t.Helper()
	s := sim.snapshot()
	if s.Backend == nil || len(s.Gang.Errors()) > 0 || sim.job.Status.Phase != v1alpha1.PhaseRunning {
		return
	}
	running := map[int]types.UID{}
	for i, r := range observation.Of(s).Ranks {
		if r.State != observation.RankRunning {
			return
		}
		running[i] = r.Pod.UID
	}
	if sim.namesOf != sim.job.Status.Attempt || !maps.Equal(sim.names, running) {
		sim.t.Errorf("invariant 8: ranks %v of attempt %d run, named are %v of attempt %d", running,
			sim.job.Status.Attempt, sim.names, sim.namesOf)
	}
}
