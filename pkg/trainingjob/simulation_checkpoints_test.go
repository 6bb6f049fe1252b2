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
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
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

// jobtest.Checkpoints on a claim that the operator makes.
// saves puts a complete checkpoint on the volume; nobody is told.
func (sim *simulation) saves(step int64) saved {
	s := saved{attempt: sim.job.Status.Attempt, step: step, at: sim.now}
	sim.volume = append(sim.volume, s)
	sim.say("the trainer saves step %d", step)
	return s
}

// reports is what the agent of rank 0 posts.
func (sim *simulation) reports(step int64, edit ...func(*checkpoint.Report)) {
	if sim.report == nil || sim.report.Attempt != sim.job.Status.Attempt {
		first := step
		sim.report = &observation.Reported{Report: checkpoint.Report{Attempt: sim.job.Status.Attempt, FirstStep: &first}}
	}
	r := *sim.report
	r.Phase, r.Step, r.TotalSteps, r.StepSeconds = checkpoint.PhaseTraining, step, 1000, 0.5
	for _, e := range edit {
		e(&r.Report)
	}
	r.Received = sim.now
	sim.report = &r
	sim.say("rank 0 reports step %d", step)
}

func (sim *simulation) committed(s saved) func(*checkpoint.Report) {
	return func(r *checkpoint.Report) { r.Checkpoint = s.save() }
}

// newest complete checkpoint on the volume.
func (sim *simulation) newest(of func(saved) bool) *saved {
	var best *saved
	for i := range sim.volume {
		if s := &sim.volume[i]; !s.torn && of(*s) && (best == nil || s.step >= best.step) {
			best = s
		}
	}
	return best
}

// ends rank 0, or others, with the agent's last word.
func (sim *simulation) ends(word checkpoint.Termination, names ...string) {
	word.Attempt = sim.job.Status.Attempt
	if s := sim.newest(func(s saved) bool { return s.attempt == word.Attempt }); s != nil {
		word.Checkpoint = s.save()
	}
	data, err := checkpoint.Encode(word)
	if err != nil {
		sim.t.Fatal(err)
	}
	sim.exit(word.ExitCode, names...)
	for _, name := range names {
		sim.change(name, func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State.Terminated.Message = string(data) })
	}
}

func (sim *simulation) createResolver() {
	pod, err := render.Resolver(sim.job, sim.agent)
	if err != nil {
		sim.t.Fatal(err)
	}
	sim.add(pod)
	sim.say("  create %s", pod.Name)
}

// finds ends the search of the volume with what is there.
func (sim *simulation) finds() {
	word := checkpoint.Termination{Reason: checkpoint.ExitResolved, Attempt: sim.job.Status.Attempt, Phase: checkpoint.PhaseResolved}
	best := sim.newest(func(saved) bool { return true })
	if best != nil {
		word.Checkpoint = best.save()
	}
	for _, s := range sim.volume {
		if s.torn && (best == nil || s.step > best.step) {
			word.PassedOver = append(word.PassedOver, checkpoint.Passed{URI: s.uri(), Why: "model.pt is shorter than the manifest says"})
		}
	}
	sim.endSearch(0, word)
}

func (sim *simulation) endSearch(code int32, word checkpoint.Termination) {
	word.ExitCode = code
	data, err := checkpoint.Encode(word)
	if err != nil {
		sim.t.Fatal(err)
	}
	sim.exit(code, "bert-resolve")
	sim.change("bert-resolve", func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State.Terminated.Message = string(data) })
}

// checkResume holds the gang to one resume point: every rank of an attempt gets the same, and it is complete.
func (sim *simulation) checkResume(pod *corev1.Pod) {
	sim.t.Helper()
	for _, e := range spec.Framework(sim.job).Trainer(&pod.Spec).Env {
		if e.Name != checkpoint.EnvResume {
			continue
		}
		attempt := sim.job.Status.Attempt
		if given, known := sim.resumed[attempt]; known && given != e.Value {
			sim.t.Errorf("ranks of attempt %d resume from %q and from %q", attempt, given, e.Value)
		}
		if sim.resumed[attempt] == "" && e.Value != "" {
			sim.say("  attempt %d resumes from %s", attempt, e.Value)
		}
		sim.resumed[attempt] = e.Value
		whole := e.Value == "" || !spec.OnVolume(sim.job.Spec.Checkpoint) || slices.ContainsFunc(sim.volume, func(s saved) bool {
			return !s.torn && strings.TrimPrefix(s.uri(), "pvc://bert-checkpoints") == strings.TrimPrefix(e.Value, "/checkpoints")
		})
		if !whole {
			sim.t.Errorf("invariant 7: attempt %d resumes from %s, which is not complete", attempt, e.Value)
		}
	}
}

// checkPoints: resume points only move forward, and not within an attempt.
func (sim *simulation) checkPoints(to v1alpha1.TrainingJobStatus) {
	sim.t.Helper()
	step := func(st v1alpha1.TrainingJobStatus) int64 {
		if st.Checkpoint == nil || st.Checkpoint.ResumeFrom == nil {
			return 0
		}
		return st.Checkpoint.ResumeFrom.Step
	}
	from := sim.job.Status
	if sim.mayGoBack {
		return
	}
	if step(to) < step(from) {
		sim.t.Errorf("invariant 7: the resume point went back from step %d to %d", step(from), step(to))
	}
	if spec.Checkpoints(sim.job) != nil && spec.OnVolume(sim.job.Spec.Checkpoint) && to.Attempt > from.Attempt {
		sim.settled[conditionReason(to, v1alpha1.ConditionCheckpointUnknown)]++
		best := sim.newest(func(saved) bool { return true })
		if best != nil && best.step != step(to) && conditionReason(to, v1alpha1.ConditionCheckpointUnknown) != v1alpha1.ReasonUnresolved {
			sim.t.Errorf("attempt %d resumes from step %d, the newest complete checkpoint is of step %d, and nobody says so", to.Attempt, step(to), best.step)
		}
	}
	if step(to) != step(from) && to.Attempt == from.Attempt && !to.Phase.Finished() {
		sim.t.Errorf("the resume point of attempt %d moved from step %d to %d", to.Attempt, step(from), step(to))
	}
}

// told is the command that an agent would get now.
func (sim *simulation) told() {
	a := decision.Answer(sim.job)
	if a.Deadline == nil {
		sim.say("? rank 0 is told: %s", a.Command)
		return
	}
	sim.say("? rank 0 is told: %s %s within %s", a.Command, a.ID, a.Deadline.Sub(sim.now))
}

// points logs what a user sees of checkpoints.
func (sim *simulation) points() {
	st, point := sim.job.Status, func(p *v1alpha1.CheckpointPoint) string {
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
	sim.say("= latest=%s resumeFrom=%s %s", point(cs.Latest), point(cs.ResumeFrom), strings.Join(conditions, " "))
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
func (sim *simulation) worked() {
	k := sim.job.Status.Work
	if k == nil {
		k = &v1alpha1.WorkStatus{}
	}
	sim.say("= queued %d s, ran %d s, interrupted %d times, lost %d steps, %d s, %d GPU s; ran again after %d s in %d cases; goodput %s",
		k.QueuedSeconds, k.RunningSeconds, k.Interruptions, k.LostSteps, k.LostSeconds, k.LostGPUSeconds, k.ResumeSeconds, k.Resumptions, percent(k.Goodput))
	if cs := sim.job.Status.Checkpoint; cs != nil && cs.SuggestedInterval > 0 {
		sim.say("= a save takes %d s; suggested interval %d s", cs.SaveSeconds, cs.SuggestedInterval)
	}
}

func percent(p *int32) string {
	if p == nil {
		return "unknown"
	}
	return fmt.Sprintf("%d %%", *p)
}
