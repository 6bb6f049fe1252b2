package trainingjob

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// saved is a checkpoint on the job's volume, or what is left of one.
type saved struct {
	attempt int32
	step    int64
	at      time.Time
	torn    bool
}

func (s saved) uri() string {
	return fmt.Sprintf("pvc://bert-checkpoints/attempt-%d/step-%d", s.attempt, s.step)
}

func (s saved) save() *checkpoint.Save {
	return &checkpoint.Save{State: checkpoint.SaveCommitted, URI: s.uri(), Step: s.step, CommittedAt: &s.at, DurationSeconds: 8}
}

// withCheckpoints on a claim that the operator makes.
func withCheckpoints(j *v1alpha1.TrainingJob) { j.Spec.Checkpoint = &v1alpha1.CheckpointSpec{} }

// saves puts a complete checkpoint on the volume; nobody is told.
func (w *world) saves(step int64) saved {
	s := saved{attempt: w.job.Status.Attempt, step: step, at: w.now}
	w.volume = append(w.volume, s)
	w.say("the trainer saves step %d", step)
	return s
}

// reports is what the agent of rank 0 posts.
func (w *world) reports(step int64, edit ...func(*checkpoint.Report)) {
	if w.report == nil || w.report.Attempt != w.job.Status.Attempt {
		first := step
		w.report = &Reported{Report: checkpoint.Report{Attempt: w.job.Status.Attempt, FirstStep: &first}}
	}
	r := *w.report
	r.Phase, r.Step, r.TotalSteps, r.StepSeconds = checkpoint.PhaseTraining, step, 1000, 0.5
	for _, e := range edit {
		e(&r.Report)
	}
	r.Received = w.now
	w.report = &r
	w.say("rank 0 reports step %d", step)
}

func (w *world) committed(s saved) func(*checkpoint.Report) {
	return func(r *checkpoint.Report) { r.Checkpoint = s.save() }
}

// newest complete checkpoint on the volume.
func (w *world) newest(of func(saved) bool) *saved {
	var best *saved
	for i := range w.volume {
		if s := &w.volume[i]; !s.torn && of(*s) && (best == nil || s.step >= best.step) {
			best = s
		}
	}
	return best
}

// ends rank 0, or others, with the agent's last word.
func (w *world) ends(word checkpoint.Termination, names ...string) {
	word.Attempt = w.job.Status.Attempt
	if s := w.newest(func(s saved) bool { return s.attempt == word.Attempt }); s != nil {
		word.Checkpoint = s.save()
	}
	data, err := checkpoint.Encode(word)
	if err != nil {
		w.t.Fatal(err)
	}
	w.exit(word.ExitCode, names...)
	for _, name := range names {
		w.change(name, func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State.Terminated.Message = string(data) })
	}
}

func (w *world) createResolver() {
	pod, err := RenderResolver(w.job, w.agent)
	if err != nil {
		w.t.Fatal(err)
	}
	w.add(pod)
	w.say("  create %s", pod.Name)
}

// finds ends the search of the volume with what is there.
func (w *world) finds() {
	word := checkpoint.Termination{Reason: checkpoint.ExitResolved, Attempt: w.job.Status.Attempt, Phase: checkpoint.PhaseResolved}
	best := w.newest(func(saved) bool { return true })
	if best != nil {
		word.Checkpoint = best.save()
	}
	for _, s := range w.volume {
		if s.torn && (best == nil || s.step > best.step) {
			word.PassedOver = append(word.PassedOver, checkpoint.Passed{URI: s.uri(), Why: "model.pt is shorter than the manifest says"})
		}
	}
	w.endSearch(0, word)
}

func (w *world) endSearch(code int32, word checkpoint.Termination) {
	word.ExitCode = code
	data, err := checkpoint.Encode(word)
	if err != nil {
		w.t.Fatal(err)
	}
	w.exit(code, "bert-resolve")
	w.change("bert-resolve", func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State.Terminated.Message = string(data) })
}

// checkResume holds the gang to one resume point: every rank of an attempt gets the same, and it is complete.
func (w *world) checkResume(pod *corev1.Pod) {
	w.t.Helper()
	for _, e := range trainerOf(&pod.Spec).Env {
		if e.Name != checkpoint.EnvResume {
			continue
		}
		attempt := w.job.Status.Attempt
		if given, known := w.resumed[attempt]; known && given != e.Value {
			w.t.Errorf("ranks of attempt %d resume from %q and from %q", attempt, given, e.Value)
		}
		if w.resumed[attempt] == "" && e.Value != "" {
			w.say("  attempt %d resumes from %s", attempt, e.Value)
		}
		w.resumed[attempt] = e.Value
		whole := e.Value == "" || !onVolume(w.job.Spec.Checkpoint) || slices.ContainsFunc(w.volume, func(s saved) bool {
			return !s.torn && strings.TrimPrefix(s.uri(), "pvc://bert-checkpoints") == strings.TrimPrefix(e.Value, "/checkpoints")
		})
		if !whole {
			w.t.Errorf("invariant 7: attempt %d resumes from %s, which is not complete", attempt, e.Value)
		}
	}
}

// checkPoints: resume points only move forward, and not within an attempt.
func (w *world) checkPoints(to v1alpha1.TrainingJobStatus) {
	w.t.Helper()
	step := func(st v1alpha1.TrainingJobStatus) int64 {
		if st.Checkpoint == nil || st.Checkpoint.ResumeFrom == nil {
			return 0
		}
		return st.Checkpoint.ResumeFrom.Step
	}
	from := w.job.Status
	if w.mayGoBack {
		return
	}
	if step(to) < step(from) {
		w.t.Errorf("invariant 7: the resume point went back from step %d to %d", step(from), step(to))
	}
	if Checkpoints(w.job) != nil && onVolume(w.job.Spec.Checkpoint) && to.Attempt > from.Attempt {
		w.settled[conditionReason(to, v1alpha1.ConditionCheckpointUnknown)]++
		best := w.newest(func(saved) bool { return true })
		if best != nil && best.step != step(to) && conditionReason(to, v1alpha1.ConditionCheckpointUnknown) != v1alpha1.ReasonUnresolved {
			w.t.Errorf("attempt %d resumes from step %d, the newest complete checkpoint is of step %d, and nobody says so", to.Attempt, step(to), best.step)
		}
	}
	if step(to) != step(from) && to.Attempt == from.Attempt && !to.Phase.Finished() {
		w.t.Errorf("the resume point of attempt %d moved from step %d to %d", to.Attempt, step(from), step(to))
	}
}

// told is the command that an agent would get now.
func (w *world) told() {
	a := Answer(w.job)
	if a.Deadline == nil {
		w.say("? rank 0 is told: %s", a.Command)
		return
	}
	w.say("? rank 0 is told: %s %s within %s", a.Command, a.ID, a.Deadline.Sub(w.now))
}

// points logs what a user sees of checkpoints.
func (w *world) points() {
	st, point := w.job.Status, func(p *v1alpha1.CheckpointPoint) string {
		if p == nil {
			return "none"
		}
		return fmt.Sprint(p.Step)
	}
	cs := st.Checkpoint
	if cs == nil {
		cs = &v1alpha1.CheckpointStatus{}
	}
	var conditions []string
	for _, kind := range []string{v1alpha1.ConditionCheckpointUnknown, v1alpha1.ConditionResumeIgnored} {
		if reason := conditionReason(st, kind); reason != "" {
			conditions = append(conditions, kind+"="+reason)
		}
	}
	w.say("= latest=%s resumeFrom=%s %s", point(cs.Latest), point(cs.ResumeFrom), strings.Join(conditions, " "))
}

// conditionReason of a condition that is true; empty where it is not.
func conditionReason(st v1alpha1.TrainingJobStatus, kind string) string {
	for _, c := range st.Conditions {
		if c.Type == kind && c.Status == metav1.ConditionTrue {
			return c.Reason
		}
	}
	return ""
}

// worked logs what the job's life has cost.
func (w *world) worked() {
	k := w.job.Status.Work
	if k == nil {
		k = &v1alpha1.WorkStatus{}
	}
	w.say("= queued %d s, ran %d s, interrupted %d times, lost %d steps, %d s, %d GPU s; ran again after %d s in %d cases; goodput %s",
		k.QueuedSeconds, k.RunningSeconds, k.Interruptions, k.LostSteps, k.LostSeconds, k.LostGPUSeconds, k.ResumeSeconds, k.Resumptions, percent(k.Goodput))
	if cs := w.job.Status.Checkpoint; cs != nil && cs.SuggestedInterval > 0 {
		w.say("= a save takes %d s; suggested interval %d s", cs.SaveSeconds, cs.SuggestedInterval)
	}
}

func percent(p *int32) string {
	if p == nil {
		return "unknown"
	}
	return fmt.Sprintf("%d %%", *p)
}
