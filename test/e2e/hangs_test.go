//go:build e2e

package e2e

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

var playsHangs = flag.Bool("hangs", false, "play gangs that hang, which takes half an hour")

// hangStep is the last step that a gang finishes before it hangs.
const hangStep = 40

// hang is a gang of which one rank hangs.
type hang struct {
	rank int
	// how: stop is SIGSTOP, the others are those of ranks/hangs.py.
	how      string
	evidence v1alpha1.SuspectEvidence
}

func (h hang) name() string { return fmt.Sprintf("hang-%s-%d", h.how, h.rank) }

// hangs of which each names its rank, in rounds of gangs that run together.
var hangs = [][]hang{
	{
		{0, "stop", v1alpha1.EvidenceStopped}, {2, "stop", v1alpha1.EvidenceStopped},
		{1, "sleep", v1alpha1.EvidenceWhere}, {3, "sleep", v1alpha1.EvidenceWhere},
		{2, "disk", v1alpha1.EvidenceDiskWait},
	},
	{
		{1, "stop", v1alpha1.EvidenceStopped}, {3, "stop", v1alpha1.EvidenceStopped},
		{0, "sleep", v1alpha1.EvidenceWhere}, {0, "disk", v1alpha1.EvidenceDiskWait},
		{3, "disk", v1alpha1.EvidenceDiskWait},
	},
}

// hangProgram is the example's trainer with ranks that hang.
func hangProgram() program {
	p := pytorch()
	p.command = []string{"/usr/bin/python3", "/opt/hangs.py"}
	return p
}

// submitWatched submits a gang of four ranks that is watched and requests no GPUs, so that several fit.
func (j *training) submitWatched(mode v1alpha1.LivenessMode, env map[string]string) {
	j.t.Helper()
	job := j.gang(j.program.image, slices.Concat(j.program.command,
		[]string{"--steps", fmt.Sprint(j.program.steps), "--log", "/checkpoints/losses.jsonl"},
		[]string{"--step-seconds", j.program.pause}))
	delete(job.Spec.Resources.Requests, gpu)
	least := int32(120)
	job.Spec.RunPolicy.Liveness = &v1alpha1.LivenessPolicy{Mode: mode, HangAfterSeconds: &least}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		job.Spec.Env = append(job.Spec.Env, corev1.EnvVar{Name: name, Value: env[name]})
	}
	j.saveOnDisk(job, j.program.interval)
	if err := j.client.Create(j.t.Context(), job); err != nil {
		j.t.Fatal(err)
	}
}

// untilHung waits until the operator reports that the gang hangs.
func (j *training) untilHung() *v1alpha1.TrainingJob {
	j.t.Helper()
	return j.until("hangs", func(job *v1alpha1.TrainingJob) bool {
		return meta.IsStatusConditionTrue(job.Status.Conditions, v1alpha1.ConditionStalled) &&
			job.Status.Liveness.State == v1alpha1.LivenessHung
	})
}

// TestHangs: the operator names the rank and the node that the others wait for, in each of ten hangs.
func TestHangs(t *testing.T) {
	if !*playsHangs {
		t.Log("it is left to make test-hangs")
		return
	}
	for i, round := range hangs {
		t.Run(fmt.Sprint("round-", i), func(t *testing.T) {
			t.Cleanup(func() { env.clear(t) })
			env.logIfFailed(t, "hang-")
			gangs := map[hang]*training{}
			for _, h := range round {
				j := env.newTraining(t, hangProgram(), v1alpha1.SchedulerVolcano, h.name())
				variables := map[string]string{"HANG_RANK": fmt.Sprint(h.rank), "HANG_STEP": fmt.Sprint(hangStep),
					"HANG_HOW": h.how}
				if h.how == "stop" {
					variables = nil
				}
				j.submitWatched(v1alpha1.LivenessWarn, variables)
				gangs[h] = j
			}
			for h, j := range gangs {
				if h.how == "stop" {
					j.untilTrained(hangStep, 0)
					j.signal(j.trainerOf(fmt.Sprint("worker-", h.rank)), syscall.SIGSTOP)
				}
			}
			for h, j := range gangs {
				t.Run(h.name(), func(t *testing.T) { h.check(t, j.in(t).untilHung()) })
			}
		})
	}
}

// in returns the training for a subtest.
func (j *training) in(t *testing.T) *training {
	out := *j
	out.t = t
	return &out
}

func (h hang) check(t *testing.T, job *v1alpha1.TrainingJob) {
	t.Helper()
	t.Logf("%s: %s", job.Status.Scheduling.Blocker.Reason, job.Status.Scheduling.Blocker.Message)
	l := job.Status.Liveness
	pod := fmt.Sprintf("%s-worker-%d", job.Name, h.rank)
	if len(l.Suspects) != 1 || l.Suspects[0].Pod != pod || l.Suspects[0].Evidence != h.evidence ||
		l.Suspects[0].Node == "" {
		t.Errorf("the suspects are %+v, not %s by %s", l.Suspects, pod, h.evidence)
	}
	if l.ReportingRanks != gpus || l.WatchedRanks != gpus || l.Restarts != 0 || job.Status.Attempt != 1 {
		t.Errorf("attempt %d, %+v", job.Status.Attempt, l)
	}
}

// TestHangRestarts: in mode Act the operator restarts a gang that hangs from its latest checkpoint, and the
// training equals one that never hung. It restarts no gang whose trainer evaluates or saves for longer than
// the limit of a step, or of which an agent is cut off.
func TestHangRestarts(t *testing.T) {
	if !*playsHangs {
		t.Log("it is left to make test-hangs")
		return
	}
	t.Cleanup(func() { env.clear(t) })
	env.logIfFailed(t, "hang-")
	plain := env.newTraining(t, pytorch(), v1alpha1.SchedulerVolcano, "hang-never")
	plain.submit()
	plain.untilSucceeded()
	whole := plain.lines()

	start := func(name string, steps int64, variables map[string]string) *training {
		p := hangProgram()
		p.steps = steps
		j := env.newTraining(t, p, v1alpha1.SchedulerVolcano, "hang-"+name)
		j.submitWatched(v1alpha1.LivenessAct, variables)
		return j
	}
	long := func(how string, rank string, seconds int) map[string]string {
		return map[string]string{"HANG_RANK": rank, "HANG_STEP": fmt.Sprint(hangStep), "HANG_HOW": how,
			"HANG_SECONDS": fmt.Sprint(seconds)}
	}
	steps := pytorch().steps
	evaluates := start("evaluates", steps, long("evaluate", "all", 360))
	saves := start("saves", steps, long("save", "0", 200))
	cut := start("cut-off", 10*steps, nil) // it trains until it is deleted
	stopped := start("stopped", steps, nil)
	cut.untilTrained(hangStep, 0)
	cut.signal(parentOf(cut.trainerOf("worker-2")), syscall.SIGSTOP)
	stopped.untilTrained(hangStep, 1)
	stopped.signal(stopped.trainerOf("worker-2"), syscall.SIGSTOP)

	stopped.untilHung()
	stopped.untilDraining() // no earlier than 10 minutes after the operator's start
	job := stopped.untilSucceeded()
	l := job.Status.Liveness
	if job.Status.Attempt != 2 || l.Restarts != 1 || job.Status.Restarts != 0 || job.Status.Preemptions != 0 {
		t.Errorf("attempt %d, %d restarts, %d preemptions, %+v", job.Status.Attempt, job.Status.Restarts,
			job.Status.Preemptions, l)
	}
	if job.Status.Checkpoint == nil || job.Status.Checkpoint.ResumeFrom == nil {
		t.Fatalf("no resume point: %+v", job.Status.Checkpoint)
	}
	from := job.Status.Checkpoint.ResumeFrom.Step
	if err := resumedExactly(whole, stopped.lines(), steps, map[int32]int64{2: from}); err != nil {
		t.Error(err)
	}
	t.Logf("attempt 1 reached step %d, attempt 2 resumed from %d", reached(stopped.lines(), 1), from)
	for _, j := range []*training{evaluates, saves} {
		if job := j.untilSucceeded(); job.Status.Attempt != 1 || job.Status.Liveness.Restarts != 0 {
			t.Errorf("%s: attempt %d, %+v", j.name, job.Status.Attempt, job.Status.Liveness)
		}
	}
	silent := cut.until("names the silent rank", func(job *v1alpha1.TrainingJob) bool {
		c := meta.FindStatusCondition(job.Status.Conditions, v1alpha1.ConditionStalled)
		return c != nil && c.Reason == v1alpha1.ReasonRankSilent
	})
	if silent.Status.Attempt != 1 || silent.Status.Liveness.Restarts != 0 {
		t.Errorf("attempt %d, %+v", silent.Status.Attempt, silent.Status.Liveness)
	}
}
