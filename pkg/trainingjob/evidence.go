package trainingjob

import (
	"math"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// Reported is the last report of a job's rank 0 that was let in.
type Reported struct {
	checkpoint.Report
	// Received by the operator's clock.
	Received time.Time
}

// evidence is what is known now of the attempt's trainer and its checkpoints, from its reports, the last words of its pods and the
// search of the volume. Whatever of it cannot be asked for again is written into the status before the pods are gone (see learn).
type evidence struct {
	// latest complete checkpoint that anybody spoke of, not behind the status's; saved is how long it took, 0 where unknown.
	latest *v1alpha1.CheckpointPoint
	saved  float64
	// report of the current attempt.
	report *Reported
	// step that the trainer was at when it ended; nil where it did not say.
	step *int64
	// ran: rank 0's trainer has started. known: its last word was heard, and the agent saw all of the volume. completed: it said that
	// every step is trained, and exited 0.
	ran, known, completed bool
	// resolved is the answer of the search; searchFailed: the pod of the current try ended without one.
	resolved     *checkpoint.Termination
	searchFailed bool
}

// gatherEvidence of a job with checkpoints; it is empty for any other.
func (p *pass) gatherEvidence() evidence {
	var e evidence
	if Checkpoints(p.job) == nil || settledAndOver(p.job) {
		return e
	}
	if st := p.job.Status.Checkpoint; st != nil {
		e.latest = st.Latest
	}
	// What a former attempt said is over: its resume point was settled with more than its word.
	if r := p.Report; r != nil && r.Attempt == p.job.Status.Attempt && r.Phase != checkpoint.PhaseResolved {
		e.report = r
		p.weigh(&e, r.Checkpoint, r.Received)
	}
	p.readRankZero(&e)
	p.readSearch(&e)
	return e
}

// settledAndOver: the job has finished after a drain, which has settled everything.
func settledAndOver(job *v1alpha1.TrainingJob) bool {
	ts := job.Status.Transitions
	return job.Status.Phase.Finished() && len(ts) > 1 && ts[len(ts)-2].Phase == v1alpha1.PhaseDraining
}

// weigh takes a checkpoint over that is newer than what is known: by step, then by attempt, since a later attempt that reached the same
// step again did so on files that still have their writer.
func (p *pass) weigh(e *evidence, save *checkpoint.Save, heard time.Time) {
	if save == nil || save.State != checkpoint.SaveCommitted || !isOurs(p.job, save.URI) {
		return
	}
	if l := e.latest; l != nil && (save.Step < l.Step || save.Step == l.Step && save.URI == l.URI) {
		return
	}
	e.latest, e.saved = pointOf(save, heard), save.DurationSeconds
}

func pointOf(save *checkpoint.Save, heard time.Time) *v1alpha1.CheckpointPoint {
	at := metav1.NewTime(heard.Truncate(time.Second))
	if save.CommittedAt != nil {
		at = metav1.NewTime(save.CommittedAt.Truncate(time.Second))
	}
	point := &v1alpha1.CheckpointPoint{URI: save.URI, Step: save.Step}
	if !at.IsZero() {
		point.Time = &at
	}
	return point
}

// readRankZero hears what rank 0's pod says, as it is or as it last was.
func (p *pass) readRankZero(e *evidence) {
	if len(p.obs.ranks) == 0 {
		return
	}
	r := &p.obs.ranks[0]
	pod := r.pod
	if pod == nil {
		pod = r.departed
	}
	// Under scope Rank this pod may have had a predecessor in the same attempt, that saved and was not heard.
	ph := p.job.Status.Phase
	successor := p.scope == v1alpha1.ScopeRank && (p.obs.present() > 0 || ph == v1alpha1.PhaseStarting || ph == v1alpha1.PhaseRunning)
	if pod == nil {
		e.ran = successor || p.mayHaveRun()
		return
	}
	e.ran = successor || started(pod)
	for _, t := range terminations(pod) {
		word, err := checkpoint.ParseTermination([]byte(t.Message))
		if err != nil || word.Attempt != 0 && word.Attempt != p.job.Status.Attempt {
			continue
		}
		p.weigh(e, word.Checkpoint, t.FinishedAt.Time)
		e.step = word.Step
		if t.last {
			// A problem may mean that the agent did not see all of the volume.
			e.known = word.Problem == "" || word.Reason == checkpoint.ExitStartFailed
			e.completed = word.ExitCode == 0 && t.ExitCode == 0 && (word.Phase == checkpoint.PhaseCompleted || p.reportedCompleted())
		}
	}
}

func (p *pass) reportedCompleted() bool {
	return p.Report != nil && p.Report.Attempt == p.job.Status.Attempt && p.Report.Phase == checkpoint.PhaseCompleted
}

// mayHaveRun, where nothing is known of rank 0's pod: it has run if the gang did, or if nobody knows.
func (p *pass) mayHaveRun() bool {
	switch p.job.Status.Phase {
	case v1alpha1.PhaseStarting, v1alpha1.PhaseRunning:
		return true
	case v1alpha1.PhaseQueued:
		for _, l := range p.lost {
			if l.reason == v1alpha1.ReasonPodVanished {
				return true
			}
		}
	}
	return false
}

// started says whether a pod's containers ever ran.
func started(pod *corev1.Pod) bool {
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		if s.State.Running != nil || s.State.Terminated != nil || s.LastTerminationState.Terminated != nil {
			return true
		}
	}
	return pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodFailed && pod.Spec.NodeName != "" && len(pod.Status.ContainerStatuses) == 0
}

// ended container of a pod. The last one ended for good; the others were restarted since.
type ended struct {
	*corev1.ContainerStateTerminated
	last bool
}

func terminations(pod *corev1.Pod) []ended {
	var all []ended
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		if t := s.LastTerminationState.Terminated; t != nil {
			all = append(all, ended{t, false})
		}
		if t := s.State.Terminated; t != nil {
			all = append(all, ended{t, Ended(pod) || pod.DeletionTimestamp != nil})
		}
	}
	return all
}

// readSearch hears what the pod that searches the volume has found.
func (p *pass) readSearch(e *evidence) {
	attempt, try := strconv.Itoa(int(p.job.Status.Attempt)), strconv.Itoa(int(resolveTry(p.job)))
	for _, pod := range p.Resolvers {
		if pod.Labels[v1alpha1.LabelAttempt] != attempt || !Ended(pod) {
			continue
		}
		if word := found(p.job, pod); word != nil {
			e.resolved = word
		} else if pod.Labels[v1alpha1.LabelTry] == try {
			e.searchFailed = true
		}
	}
}

func found(job *v1alpha1.TrainingJob, pod *corev1.Pod) *checkpoint.Termination {
	for _, t := range terminations(pod) {
		word, err := checkpoint.ParseTermination([]byte(t.Message))
		if err == nil && word.Reason == checkpoint.ExitResolved && t.ExitCode == 0 &&
			(word.Checkpoint == nil || word.Checkpoint.State == checkpoint.SaveCommitted && isOurs(job, word.Checkpoint.URI)) {
			return word
		}
	}
	return nil
}

// learn writes what is new of the checkpoints into the status, at once: what a pod has said goes with the pod. It says whether
// anything was.
func (p *pass) learn() bool {
	if Checkpoints(p.job) == nil {
		return false
	}
	st := &p.plan.Status
	news := false
	if e := &p.ev; e.latest != nil && !samePoint(st.Checkpoint, e.latest) {
		cs := p.checkpointStatus()
		latest := *e.latest
		cs.Latest, news = &latest, true
		if s := int32(math.Ceil(min(e.saved, 1e6))); s > 0 {
			cs.SaveSeconds = s
		}
		p.note("checkpoint of step %d is complete", latest.Step)
	}
	return p.judgeResume() || news
}

func samePoint(cs *v1alpha1.CheckpointStatus, point *v1alpha1.CheckpointPoint) bool {
	return cs != nil && cs.Latest != nil && cs.Latest.URI == point.URI && cs.Latest.Step == point.Step
}

// remember writes what the drain must know after the pods are gone. It says whether anything of it is new.
func (p *pass) remember() bool {
	d := p.plan.Status.Drain
	if d == nil || p.plan.Status.Phase != v1alpha1.PhaseDraining {
		return false
	}
	before := *d
	d.Ran = d.Ran || p.ev.ran
	d.CheckpointKnown = d.CheckpointKnown || p.ev.known
	d.Completed = d.Completed || p.ev.completed
	return before != *d
}

// checkpointStatus of the plan, made when missing.
func (p *pass) checkpointStatus() *v1alpha1.CheckpointStatus {
	st := &p.plan.Status
	if st.Checkpoint == nil {
		st.Checkpoint = &v1alpha1.CheckpointStatus{}
	}
	return st.Checkpoint
}

// judgeResume tells a trainer that trains steps again which its resume point covers.
func (p *pass) judgeResume() bool {
	st := p.job.Status
	if p.ev.report == nil || p.ev.report.FirstStep == nil || st.Checkpoint == nil || st.Checkpoint.ResumeFrom == nil {
		return false
	}
	first, from := *p.ev.report.FirstStep, st.Checkpoint.ResumeFrom.Step
	was := conditionStatus(&p.plan.Status, v1alpha1.ConditionResumeIgnored)
	switch ignored := first < from; {
	case ignored && was != metav1.ConditionTrue:
		message := "attempt " + strconv.Itoa(int(st.Attempt)) + " was given the checkpoint of step " + strconv.FormatInt(from, 10) +
			" and began at step " + strconv.FormatInt(first, 10) + ": let the trainer load RESUME_FROM_CHECKPOINT (docs/checkpoints.md)"
		p.condition(v1alpha1.ConditionResumeIgnored, true, v1alpha1.ReasonStepsRepeated, message)
		p.event(true, v1alpha1.ConditionResumeIgnored, "Resume", "%s", message)
		return true
	case !ignored && was == metav1.ConditionTrue:
		p.condition(v1alpha1.ConditionResumeIgnored, false, v1alpha1.ReasonStepsContinued, "the trainer goes on where its resume point ends")
		return true
	}
	return false
}
