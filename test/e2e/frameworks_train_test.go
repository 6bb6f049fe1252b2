//go:build e2e

package e2e

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

var played = flag.String("frameworks", "", "the frameworks of TestFrameworksTrain, separated by commas")

// framework is a current release of a framework, in an image of its own, with a training of two ranks.
type framework struct {
	name, packages, program string
	kind                    v1alpha1.Framework
}

func knownFrameworks() map[string]framework {
	return map[string]framework{
		"jax": {packages: "jax", program: "jax_train.py", kind: v1alpha1.FrameworkJAX},
	}
}

// playedFrameworks are those that the flag names.
func playedFrameworks() ([]framework, error) {
	var frameworks []framework
	for name := range strings.SplitSeq(*played, ",") {
		if name == "" {
			continue
		}
		f, known := knownFrameworks()[name]
		if !known {
			return nil, fmt.Errorf("-frameworks=%s: there is no training with %q", *played, name)
		}
		f.name = name
		frameworks = append(frameworks, f)
	}
	return frameworks, nil
}

// Steps of a training, and between two saves of frameworks/gang.py.
const frameworkSteps, frameworkInterval = 600, 10

// TestFrameworksTrain: ranks of a framework find each other by the operator's variables alone, and save in
// its own way: when the operator asks them to, and at SIGTERM, without losing a step. After SIGKILL they lose
// what came after the last save. What they compute is the same bit for bit.
func TestFrameworksTrain(t *testing.T) {
	frameworks, err := playedFrameworks()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range frameworks {
		t.Run(f.name, func(t *testing.T) {
			t.Cleanup(func() { env.clear(t) })
			env.logIfFailed(t, f.name)
			plain := f.submit(t, f.name+"-uninterrupted", "0")
			plain.untilSucceeded()

			j := f.submit(t, f.name+"-interrupted", "0.3")
			last := []int64{0}
			for attempt, interrupt := range []func(){
				func() { preemptByBroker(j) },
				func() { preempt(j) },
				func() { j.signal(j.trainerOf(1), syscall.SIGKILL) },
			} {
				begin := last[attempt]
				j.until("has reported", func(job *v1alpha1.TrainingJob) bool {
					p := job.Status.Progress
					return p != nil && p.Attempt == int32(attempt+1) && p.Step > begin
				})
				j.untilReached(int32(attempt+1), begin+frameworkInterval+frameworkInterval/2)
				interrupt()
				j.until("has another attempt", func(job *v1alpha1.TrainingJob) bool {
					return job.Status.Attempt > int32(attempt+1)
				})
				last = append(last, reached(j.lines(), int32(attempt+1)))
			}
			status := j.untilSucceeded().Status
			f.check(t, plain.lines(), j.lines(), last, status)
		})
	}
}

// submit a gang of two ranks that pauses for some seconds after each step of all attempts but the fourth.
func (f framework) submit(t *testing.T, name, pause string) *training {
	t.Helper()
	j := env.newTraining(t, program{}, v1alpha1.SchedulerVolcano, name)
	job := j.gang(frameworkImages+f.name+":1", []string{"/usr/bin/python3", "/opt/train/" + f.program})
	job.Spec.Framework, job.Spec.Replicas = f.kind, new(int32(2))
	job.Spec.Env = []corev1.EnvVar{
		{Name: "STEPS", Value: strconv.Itoa(frameworkSteps)}, {Name: "PAUSE", Value: pause},
	}
	j.saveOnDisk(job, 3600)
	if err := j.client.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	return j
}

// untilReached waits until an attempt has trained a step.
func (j *training) untilReached(attempt int32, step int64) {
	j.t.Helper()
	j.until("has trained on", func(*v1alpha1.TrainingJob) bool { return reached(j.lines(), attempt) >= step })
}

// check that each attempt resumed where it must: last are the last steps of the attempts, after a 0.
func (f framework) check(t *testing.T, whole, lines []line, last []int64, status v1alpha1.TrainingJobStatus) {
	t.Helper()
	points := map[int32]int64{}
	for _, l := range lines {
		if l.Event == "start" && l.Attempt > 1 {
			points[l.Attempt] = l.Step
		}
	}
	t.Logf("the attempts ended after steps %v and resumed from %v", last[1:], points)
	for attempt := int32(2); attempt <= 3; attempt++ {
		if points[attempt] != last[attempt-1] {
			t.Errorf("attempt %d resumes from step %d, and the one before ended after step %d", attempt,
				points[attempt], last[attempt-1])
		}
	}
	if lost := last[3] - points[4]; lost < 0 || lost > 2*frameworkInterval {
		t.Errorf("SIGKILL cost %d steps, with a save each %d steps", lost, frameworkInterval)
	}
	if err := resumedExactly(whole, lines, frameworkSteps, points); err != nil {
		t.Error(err)
	}
	if !asked(lines) {
		t.Error("attempt 1 did not save because the operator asked")
	}
	if status.Attempt != 4 || status.Preemptions != 2 || status.Restarts != 1 {
		t.Errorf("attempt %d, %d preemptions, %d restarts; want 4, 2, 1", status.Attempt, status.Preemptions,
			status.Restarts)
	}
}
