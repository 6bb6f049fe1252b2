//go:build e2e

package e2e

import (
	"strings"
	"syscall"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// scenario is a training whose first attempt is interrupted.
type scenario struct {
	// reduced scenarios are those that CI has time for.
	reduced   bool
	program   program
	scheduler v1alpha1.SchedulerName
	name      string
	args      []string
	// checkpoints is the number that must be complete before the interruption.
	checkpoints int
	// interrupt the first attempt. It returns the resume point that must be chosen; 0 if any may be.
	interrupt func(*training) int64
	// broken trainers must be detected.
	broken bool
	// saves: rank 0 saves before it ends, so at most one step is lost.
	saves bool
	// asked: the operator asks for a checkpoint before it ends any rank.
	asked bool
	// brokered: it chooses the gang, too, and nothing may be lost.
	brokered bool
	// restarts and preemptions in the final status.
	restarts, preemptions int32
}

func scenarios() []scenario {
	ignore := []string{"--ignore-resume"}
	return []scenario{
		{reduced: true, program: gotrainer(), scheduler: v1alpha1.SchedulerVolcano, name: "preempted",
			interrupt: preempt, saves: true, preemptions: 1},
		{
			reduced: true, program: gotrainer(), scheduler: v1alpha1.SchedulerVolcano,
			name: "ignores-its-resume", args: ignore,
			interrupt: preempt, broken: true, saves: true, preemptions: 1,
		},
		{reduced: true, program: pytorch(), scheduler: v1alpha1.SchedulerVolcano, name: "preempted",
			interrupt: preempt, saves: true, preemptions: 1},
		{reduced: true, program: pytorch(), scheduler: v1alpha1.SchedulerVolcano, name: "brokered",
			interrupt: preemptByBroker, saves: true, asked: true, brokered: true, preemptions: 1},
		{program: pytorch(), scheduler: v1alpha1.SchedulerNative, name: "brokered",
			interrupt: preemptByBroker, saves: true, asked: true, brokered: true, preemptions: 1},
		{
			program: pytorch(), scheduler: v1alpha1.SchedulerVolcano, name: "ignores-its-resume", args: ignore,
			interrupt: preempt, broken: true, saves: true, preemptions: 1,
		},
		{
			program: pytorch(), scheduler: v1alpha1.SchedulerVolcano, name: "dies-at-sigterm",
			args:        []string{"--die-at-once"},
			checkpoints: 1, interrupt: preempt, preemptions: 1,
		},
		{program: pytorch(), scheduler: v1alpha1.SchedulerVolcano, name: "operator-is-killed",
			interrupt: preemptAndKillOperator, saves: true, preemptions: 1},
		{program: pytorch(), scheduler: v1alpha1.SchedulerVolcano, name: "rank-is-killed",
			interrupt: killRank, saves: true, restarts: 1},
		{
			program: pytorch(), scheduler: v1alpha1.SchedulerVolcano, name: "rank-is-killed-at-the-preemption",
			interrupt: preemptAndKillRank, saves: true, preemptions: 1,
		},
		{
			program: pytorch(), scheduler: v1alpha1.SchedulerVolcano, name: "torn-while-it-is-down", checkpoints: 1,
			interrupt: preemptAndTear, restarts: 1, preemptions: 1,
		},
		{program: pytorch(), scheduler: v1alpha1.SchedulerNative, name: "preempted", interrupt: preempt,
			saves: true, preemptions: 1},
		{program: pytorch(), scheduler: v1alpha1.SchedulerKueue, name: "preempted", interrupt: preempt,
			saves: true, asked: true, preemptions: 1},
		{
			program: pytorch(), scheduler: v1alpha1.SchedulerKueue, name: "operator-is-killed",
			interrupt: preemptAndKillOperator,
			saves:     true, asked: true, preemptions: 1,
		},
		{program: gotrainer(), scheduler: v1alpha1.SchedulerVolcano, name: "sandbox-is-killed",
			checkpoints: 1, interrupt: killSandbox, restarts: 1},
		{
			program: gotrainer(), scheduler: v1alpha1.SchedulerVolcano,
			name: "sandbox-is-killed-at-the-preemption", checkpoints: 1,
			interrupt: preemptAndKillSandbox, preemptions: 1,
		},
		{
			program: gotrainer(), scheduler: v1alpha1.SchedulerVolcano, name: "torn-at-the-preemption", checkpoints: 2,
			interrupt: preemptTearAndKillSandbox, preemptions: 1,
		},
		{
			program: gotrainer(), scheduler: v1alpha1.SchedulerNative, name: "dies-at-sigterm",
			args:        []string{"--die-at-once"},
			checkpoints: 1, interrupt: preempt, preemptions: 1,
		},
		{program: gotrainer(), scheduler: v1alpha1.SchedulerNative, name: "operator-is-killed",
			interrupt: preemptAndKillOperator, saves: true, preemptions: 1},
		{
			program: gotrainer(), scheduler: v1alpha1.SchedulerKueue,
			name: "sandbox-is-killed-at-the-preemption", checkpoints: 1,
			interrupt: preemptAndKillSandbox, preemptions: 1,
		},
	}
}

// preempt the gang and then remove the preemptor.
func preempt(j *training) int64 {
	j.preempt().remove()
	return 0
}

// preemptByBroker runs a preemptor for which only the operator can free capacity.
func preemptByBroker(j *training) int64 {
	j.preemptAs(brokeredPriority).remove()
	return 0
}

// TestIntervalIsEdited: a trainer that would not save for an hour saves as soon as the job says so, without
// another attempt.
func TestIntervalIsEdited(t *testing.T) {
	for _, p := range []program{gotrainer(), pytorch()} {
		if *reduced && p.name != gotrainer().name {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			name := p.name + "-interval"
			t.Cleanup(func() { env.clear(t) })
			env.logIfFailed(t, name)
			p.interval = 3600
			j := env.newTraining(t, p, v1alpha1.SchedulerVolcano, name)
			j.submit("--step-seconds", p.pause)
			j.untilTrained(20, 0)
			if found := j.complete(); len(found) > 0 {
				t.Errorf("it has saved %d checkpoints in its first seconds", len(found))
			}
			job := j.get()
			patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"checkpoint":{"interval":1}}}`))
			if err := j.client.Patch(t.Context(), job, patch); err != nil {
				t.Fatal(err)
			}
			j.untilTrained(0, 2)
			if job := j.get(); job.Status.Attempt != 1 || job.Status.Phase != v1alpha1.PhaseRunning {
				t.Errorf("attempt %d is %s", job.Status.Attempt, job.Status.Phase)
			}
		})
	}
}

func preemptAndKillOperator(j *training) int64 {
	high := j.preempt()
	j.untilDraining()
	j.operator.kill()
	if err := j.operator.start(); err != nil {
		j.t.Fatal(err)
	}
	high.remove()
	return 0
}

// killRank is a failure, which ends the attempt.
func killRank(j *training) int64 {
	j.signal(j.trainerOf("worker-2"), syscall.SIGKILL)
	return 0
}

// preemptAndKillRank kills a rank while its gang drains. The rank is stopped first, so that the drain cannot
// end earlier.
func preemptAndKillRank(j *training) int64 {
	pid := j.trainerOf("worker-2")
	j.signal(pid, syscall.SIGSTOP)
	high := j.preempt()
	j.untilDraining()
	j.signal(pid, syscall.SIGKILL)
	high.remove()
	return 0
}

// killSandbox of rank 0: nothing is saved, and nothing reports the last checkpoint.
func killSandbox(j *training) int64 {
	j.killSandbox("worker-0")
	return 0
}

func preemptAndKillSandbox(j *training) int64 {
	j.signal(j.trainerOf("worker-0"), syscall.SIGSTOP)
	high := j.preempt()
	j.untilDraining()
	j.killSandbox("worker-0")
	high.remove()
	return 0
}

// preemptTearAndKillSandbox tears the newest checkpoint before the attempt ends.
func preemptTearAndKillSandbox(j *training) int64 {
	j.signal(j.trainerOf("worker-0"), syscall.SIGSTOP)
	high := j.preempt()
	j.untilDraining()
	_, before := j.tear()
	j.killSandbox("worker-0")
	high.remove()
	return before
}

// preemptAndTear tears the newest checkpoint when it is already the resume point and no rank runs, so the
// next attempt finds it torn.
func preemptAndTear(j *training) int64 {
	high := j.preempt()
	high.until("runs", func(job *v1alpha1.TrainingJob) bool { return job.Status.Phase == v1alpha1.PhaseRunning })
	torn, before := j.tear()
	if c := j.get().Status.Checkpoint; c == nil || c.Latest == nil || c.Latest.Step != torn {
		j.t.Errorf("step %d is torn, and is not what the status calls the latest: %+v", torn, c)
	}
	high.remove()
	return before
}

func TestResumesBitForBit(t *testing.T) {
	e := env
	uninterrupted := map[string][]line{}
	for _, s := range scenarios() {
		if *reduced && !s.reduced {
			continue
		}
		t.Run(s.program.name+"/"+string(s.scheduler)+"/"+s.name, func(t *testing.T) {
			t.Cleanup(func() { e.clear(t) })
			e.logIfFailed(t, s.program.name)
			whole, tried := uninterrupted[s.program.name]
			if !tried {
				uninterrupted[s.program.name] = nil
				plain := e.newTraining(t, s.program, v1alpha1.SchedulerVolcano, s.program.name+"-uninterrupted")
				plain.submit()
				plain.untilSucceeded()
				whole = plain.lines()
				uninterrupted[s.program.name] = whole
			}
			if whole == nil {
				t.Fatal("there is no uninterrupted training to compare with")
			}
			s.play(t, e, whole)
		})
	}
}

func (s scenario) play(t *testing.T, e *environment, whole []line) {
	low := e.newTraining(t, s.program, s.scheduler,
		strings.Join([]string{s.program.name, string(s.scheduler), s.name}, "-"))
	low.submit(append([]string{"--step-seconds", s.program.pause}, s.args...)...)
	low.untilTrained(50, s.checkpoints)
	if s.asked { // only a job that has reported is asked
		low.until("has reported", func(job *v1alpha1.TrainingJob) bool { return job.Status.Progress != nil })
	}
	point := s.interrupt(low)
	job := low.untilSucceeded()
	status, lines := job.Status, low.lines()

	if status.Checkpoint == nil || status.Checkpoint.ResumeFrom == nil {
		t.Fatalf("no resume point: %+v", status.Checkpoint)
	}
	from, last := status.Checkpoint.ResumeFrom.Step, reached(lines, 1)
	err := resumedExactly(whole, lines, s.program.steps, map[int32]int64{status.Attempt: from})
	t.Logf("attempt 1 reached step %d, attempt %d resumed from %d; lost by the status %d steps and %d s; "+
		"%d s until it ran again; %v",
		last, status.Attempt, from, status.Work.LostSteps, status.Work.LostSeconds, status.Work.ResumeSeconds, err)
	ignored := meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionResumeIgnored)
	switch {
	case s.broken && (err == nil || !strings.Contains(err.Error(), "trains step 1 where") || !ignored):
		t.Errorf("a trainer that starts at 0 again is not noticed: by its losses: %v, by the condition "+
			"ResumeIgnored: %t", err, ignored)
	case !s.broken && (err != nil || ignored):
		t.Errorf("%v; ResumeIgnored is %t", err, ignored)
	}
	if point != 0 && from != point {
		t.Errorf("resumed from step %d, want %d, the checkpoint before the torn one", from, point)
	}
	// Only reported steps count as lost.
	if lost := status.Work.LostSteps; point != 0 && (lost <= 0 || lost > last-from) {
		t.Errorf("the status says that %d steps were lost with the torn checkpoint; they were %d", lost, last-from)
	}
	if s.saves && last-from > 1 {
		t.Errorf("a trainer that saves lost %d steps", last-from)
	}
	if w := status.Work; s.brokered && (last != from || w.LostSteps != 0 || w.Asked != 1 || w.Saved != 1) {
		t.Errorf("it yielded at step %d, and resumed from %d: %+v", last, from, w)
	}
	if s.asked != asked(lines) {
		t.Errorf("asked for a checkpoint by a command is %t, want %t", asked(lines), s.asked)
	}
	attempts := 1 + s.restarts + s.preemptions
	if status.Restarts != s.restarts || status.Preemptions != s.preemptions || status.Attempt != attempts {
		t.Errorf("restarts %d, preemptions %d, attempt %d; want %d, %d, %d",
			status.Restarts, status.Preemptions, status.Attempt, s.restarts, s.preemptions, attempts)
	}
}

// asked reports whether rank 0 saved in its first attempt because the operator had asked, and not because of
// SIGTERM.
func asked(lines []line) bool {
	for _, l := range lines {
		if id, ok := strings.CutPrefix(l.Why, "command "); ok && l.Attempt == 1 && id != "sigterm" {
			return true
		}
	}
	return false
}
