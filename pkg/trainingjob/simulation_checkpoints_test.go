package trainingjob

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Simulated trainers, agents and searches of the volume.

// savedCheckpoint is a checkpoint on the job's volume. A torn one is incomplete.
type savedCheckpoint struct {
	attempt int32
	step    int64
	at      time.Time
	torn    bool
}

func (s savedCheckpoint) uri() string {
	return fmt.Sprintf("pvc://bert-checkpoints/attempt-%d/step-%d", s.attempt, s.step)
}

// commit returns the checkpoint as an agent reports it.
func (s savedCheckpoint) commit() *checkpoint.Save {
	return &checkpoint.Save{
		State: checkpoint.SaveCommitted, URI: s.uri(), Step: s.step, CommittedAt: &s.at, DurationSeconds: 8,
	}
}

// saveCheckpoint puts a complete checkpoint on the volume, without a report.
func (sim *simulation) saveCheckpoint(step int64) savedCheckpoint {
	s := savedCheckpoint{attempt: sim.job.Status.Attempt, step: step, at: sim.now}
	sim.volume = append(sim.volume, s)
	sim.logf("the trainer saves step %d", step)
	return s
}

// tearNewest makes the latest checkpoint incomplete.
func (sim *simulation) tearNewest() { sim.volume[len(sim.volume)-1].torn = true }

// newestComplete returns the complete matching checkpoint with the highest step, or nil.
func (sim *simulation) newestComplete(match func(savedCheckpoint) bool) *savedCheckpoint {
	var best *savedCheckpoint
	for i := range sim.volume {
		if s := &sim.volume[i]; !s.torn && match(*s) && (best == nil || s.step >= best.step) {
			best = s
		}
	}
	return best
}

// allowedBy matches the checkpoints that a selection allows.
func allowedBy(selection checkpoint.Selection) func(savedCheckpoint) bool {
	return func(s savedCheckpoint) bool {
		path := strings.TrimPrefix(s.uri(), "pvc://bert-checkpoints/")
		return selection.Allows(&checkpoint.Found{Path: path, Attempt: s.attempt, Step: s.step})
	}
}

// postReport reports a step as rank 0's agent does. Other fields stay as in the last report of the attempt.
func (sim *simulation) postReport(step int64, edit ...func(*checkpoint.Report)) {
	attempt := sim.job.Status.Attempt
	r := observation.Reported{Report: checkpoint.Report{Attempt: attempt, FirstStep: &step}}
	if sim.report != nil && sim.report.Attempt == attempt {
		r = *sim.report
	}
	r.Phase, r.Step, r.TotalSteps, r.StepSeconds = checkpoint.PhaseTraining, step, 1000, 0.5
	for _, e := range edit {
		e(&r.Report)
	}
	r.Received = sim.now
	sim.report = &r
	sim.logf("rank 0 reports step %d", step)
}

// withCommit adds a complete checkpoint to a report.
func withCommit(s savedCheckpoint) func(*checkpoint.Report) {
	return func(r *checkpoint.Report) { r.Checkpoint = s.commit() }
}

// terminate ends ranks with a termination message that names the newest checkpoint of the attempt.
func (sim *simulation) terminate(message checkpoint.Termination, names ...string) {
	message.Attempt = sim.job.Status.Attempt
	sim.completed = sim.completed || message.Phase == checkpoint.PhaseCompleted && names[0] == "bert-worker-0"
	ofAttempt := func(s savedCheckpoint) bool { return s.attempt == message.Attempt }
	if s := sim.newestComplete(ofAttempt); s != nil {
		message.Checkpoint = s.commit()
	}
	sim.exit(message.ExitCode, names...)
	for _, name := range names {
		sim.writeTermination(message, name)
	}
}

// exited returns the termination message of a trainer that ended before its last step.
func exited(code int32) checkpoint.Termination {
	return checkpoint.Termination{
		Reason: checkpoint.ExitExited, ExitCode: code, Phase: checkpoint.PhaseTraining,
	}
}

// completed returns the termination message of a trainer that trained every step.
func completed() checkpoint.Termination {
	return checkpoint.Termination{Reason: checkpoint.ExitCompleted, Phase: checkpoint.PhaseCompleted}
}

// finishSearch ends the search with the matching checkpoints of the volume.
func (sim *simulation) finishSearch() {
	message := checkpoint.Termination{
		Reason: checkpoint.ExitResolved, Attempt: sim.job.Status.Attempt, Phase: checkpoint.PhaseResolved,
	}
	selection, err := spec.Selection(sim.job)
	if err != nil {
		sim.t.Fatal(err)
	}
	selection.Path = strings.TrimPrefix(selection.URI, "pvc://bert-checkpoints/")
	best := sim.newestComplete(allowedBy(selection))
	if best == nil && selection.OlderThan != nil {
		selection.OlderThan = nil
		best = sim.newestComplete(allowedBy(selection))
	}
	if best != nil {
		message.Checkpoint = best.commit()
	}
	for _, s := range sim.volume {
		if s.torn && allowedBy(selection)(s) && (best == nil || s.step > best.step) {
			message.PassedOver = append(message.PassedOver, checkpoint.Passed{
				URI: s.uri(), Why: "model.pt is shorter than the manifest says",
			})
		}
	}
	sim.endSearch(message)
}

// failSearch ends the search without a result.
func (sim *simulation) failSearch(problem string) {
	sim.endSearch(checkpoint.Termination{Reason: checkpoint.ExitFailed, ExitCode: 1, Problem: problem})
}

func (sim *simulation) endSearch(message checkpoint.Termination) {
	sim.exit(message.ExitCode, "bert-resolve")
	sim.writeTermination(message, "bert-resolve")
}

// writeTermination writes the termination message of a pod that has ended.
func (sim *simulation) writeTermination(message checkpoint.Termination, name string) {
	data, err := checkpoint.Encode(message)
	if err != nil {
		sim.t.Fatal(err)
	}
	sim.updatePod(name, func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0].State.Terminated.Message = string(data)
	})
}

// logCommand logs the command in the response to a report.
func (sim *simulation) logCommand() {
	a := decision.Answer(sim.job)
	if a.Deadline == nil {
		sim.logf("? rank 0 receives: %s", a.Command)
		return
	}
	sim.logf("? rank 0 receives: %s %s within %s", a.Command, a.ID, a.Deadline.Sub(sim.now))
}

// logProgress logs the progress in the status.
func (sim *simulation) logProgress() {
	p := sim.job.Status.Progress
	sim.logf("= progress: attempt %d, step %d, source %s", p.Attempt, p.Step, p.Source)
}

// logCheckpoints logs the checkpoint fields of the status.
func (sim *simulation) logCheckpoints() {
	step := func(p *v1alpha1.CheckpointPoint) string {
		if p == nil {
			return "none"
		}
		return fmt.Sprint(p.Step)
	}
	st, cs := sim.job.Status, v1alpha1.CheckpointStatus{}
	if st.Checkpoint != nil {
		cs = *st.Checkpoint
	}
	var conditions []string
	for _, kind := range []string{v1alpha1.ConditionCheckpointUnknown, v1alpha1.ConditionResumeIgnored} {
		if reason := conditionReason(st, kind); reason != "" {
			conditions = append(conditions, kind+"="+reason)
		}
	}
	sim.logf("= latest=%s resumeFrom=%s %s", step(cs.Latest), step(cs.ResumeFrom), strings.Join(conditions, " "))
	if cs.FailedStarts > 0 {
		sim.logf("= failedStarts=%d", cs.FailedStarts)
	}
	for _, c := range cs.PassedOver {
		sim.logf("= passed over: step %d (%s: %s)", c.Step, c.Reason, c.Message)
	}
	if b := cs.Branch; b != nil {
		sim.logf("= attempts from %d on continue from step %d", b.Attempt, b.Step)
	}
	if r := cs.Requested; r != nil {
		sim.logf("= requested: %s %s", r.ResumeFrom, r.Problem)
	}
}

// conditionReason returns the reason of a condition that is True, otherwise "".
func conditionReason(st v1alpha1.TrainingJobStatus, kind string) string {
	for _, c := range st.Conditions {
		if c.Type == kind && c.Status == metav1.ConditionTrue {
			return c.Reason
		}
	}
	return ""
}

// logWork logs status.work.
func (sim *simulation) logWork() {
	w := v1alpha1.WorkStatus{}
	if sim.job.Status.Work != nil {
		w = *sim.job.Status.Work
	}
	goodput := "unknown"
	if w.Goodput != nil {
		goodput = fmt.Sprintf("%d %%", *w.Goodput)
	}
	sim.logf("= queued %d s, ran %d s, interrupted %d times, lost %d steps, %d s, %d GPU s; "+
		"ran again after %d s in %d cases; goodput %s",
		w.QueuedSeconds, w.RunningSeconds, w.Interruptions, w.LostSteps, w.LostSeconds, w.LostGPUSeconds,
		w.ResumeSeconds, w.Resumptions, goodput)
	if cs := sim.job.Status.Checkpoint; cs != nil && cs.SuggestedInterval > 0 {
		sim.logf("= a save takes %d s; suggested interval %d s", cs.SaveSeconds, cs.SuggestedInterval)
	}
}
