//go:build e2e

package e2e

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

var playsStarts = flag.Bool("starts", false, "play forecasts and lent capacity, which takes 15 minutes")

// restartWith restarts the operator with more configuration until the test ends.
func (e *environment) restartWith(t *testing.T, more string) {
	t.Helper()
	before, err := os.ReadFile(e.operator.config)
	if err != nil {
		t.Fatal(err)
	}
	restart := func(config string) {
		e.operator.kill()
		if err := os.WriteFile(e.operator.config, []byte(config), 0o600); err != nil {
			t.Error(err)
		}
		if err := e.operator.start(); err != nil {
			t.Error(err)
		}
	}
	restart(string(before) + more)
	t.Cleanup(func() { restart(string(before)) })
}

// TestForecasts: after a third of a training, its expected end differs by at most a fifth from the time that
// the gang behind it then waits, also if the trainer claims ten times its step time. The start of that gang
// is NotCalibrated in a new cluster, and depends on that end.
func TestForecasts(t *testing.T) {
	if !*playsStarts {
		t.Log("it is left to make test-reservations")
		return
	}
	env.restartWith(t, "forecast: {mode: \"On\"}\n")
	for name, claim := range map[string]string{"measured": "", "claimed": "5"} {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() { env.clear(t) })
			env.logIfFailed(t, "forecast-")
			p := faulty()
			p.steps, p.pause, p.interval = 600, "0.5", 30 // mostly pauses, which do not depend on the machine
			first := env.newTraining(t, p, v1alpha1.SchedulerVolcano, "forecast-first-"+name)
			job := first.gang(p.image, append(p.command, "--steps", fmt.Sprint(p.steps), "--step-seconds", p.pause,
				"--log", "/checkpoints/losses.jsonl"))
			job.Spec.Env = []corev1.EnvVar{{Name: "CLAIMED_STEP_SECONDS", Value: claim}}
			first.saveOnDisk(job, p.interval)
			if err := env.client.Create(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			first.until("runs", isRunning)
			second := env.newTraining(t, program{}, v1alpha1.SchedulerVolcano, "forecast-second-"+name)
			next := second.gang(busyboxImage, []string{"/busybox", "true"})
			if err := env.client.Create(t.Context(), next); err != nil {
				t.Fatal(err)
			}
			first.untilTrained(p.steps/3, 0)
			asked := time.Now()
			job = second.until("has a forecast", func(job *v1alpha1.TrainingJob) bool {
				s := job.Status.Scheduling
				return s != nil && s.EstimatedStart != nil && len(s.EstimatedStart.Behind) > 0 &&
					s.EstimatedStart.Behind[0].Time != nil
			})
			start := job.Status.Scheduling.EstimatedStart
			if start.Time != nil || start.Unknown != v1alpha1.StartNotCalibrated || start.HitOf != 0 {
				t.Errorf("no forecast was judged, but the start is %+v", start)
			}
			forecast := start.Behind[0].Time.Sub(asked)
			job = second.until("starts", func(job *v1alpha1.TrainingJob) bool {
				return began(job) != nil
			})
			waited := began(job).Sub(asked)
			t.Logf("the forecast was %s, it waited %s", forecast, waited)
			if (forecast - waited).Abs() > waited/5 {
				t.Errorf("the forecast was %s, it waited %s", forecast, waited)
			}
		})
	}
}

func isRunning(job *v1alpha1.TrainingJob) bool { return job.Status.Phase == v1alpha1.PhaseRunning }

// began returns when the ranks of a job began, or nil. A short start is not seen.
func began(job *v1alpha1.TrainingJob) *metav1.Time {
	for _, t := range job.Status.Transitions {
		if t.Phase == v1alpha1.PhaseStarting || t.Phase == v1alpha1.PhaseRunning {
			return &t.Time
		}
	}
	return nil
}

// TestLentCapacity: a gang starts in capacity that is reserved for a large one, saves and leaves when that
// fits, and resumes exactly from that save.
func TestLentCapacity(t *testing.T) {
	if !*playsStarts {
		t.Log("it is left to make test-reservations")
		return
	}
	t.Cleanup(func() { env.clear(t) })
	env.logIfFailed(t, "lent-")
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{
		Name: "e2e-reserves", Annotations: map[string]string{v1alpha1.AnnotationReserveAfter: "60"},
	}, Value: 0}
	if err := env.client.Create(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	ranks := int32(gpus / 2)
	half := func(name string, change func(*training, *v1alpha1.TrainingJob)) *training {
		j := env.newTraining(t, pytorch(), v1alpha1.SchedulerVolcano, "lent-"+name)
		job := j.gang(j.program.image, append(j.program.command, "--steps", fmt.Sprint(j.program.steps),
			"--step-seconds", j.program.pause, "--log", "/checkpoints/losses.jsonl"))
		job.Spec.Replicas = &ranks
		j.saveOnDisk(job, 3600) // it saves only on request
		change(j, job)
		if err := env.client.Create(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		return j
	}
	plain := half("never", func(*training, *v1alpha1.TrainingJob) {})
	plain.untilSucceeded()
	whole := plain.lines()

	env.restartWith(t, "backfill: {mode: Reserve, maxSharePercent: 100}\n")
	hour := int64(3600)
	first := half("first", func(_ *training, job *v1alpha1.TrainingJob) {
		job.Spec.Image, job.Spec.RunPolicy.ActiveDeadlineSeconds = busyboxImage, &hour
		job.Spec.Command = []string{"/busybox", "sh", "-c",
			"trap 'exit 1' TERM; until [ -e /checkpoints/done ]; do /busybox sleep 1; done"}
	})
	first.until("runs", isRunning)
	large := env.newTraining(t, program{}, v1alpha1.SchedulerVolcano, "lent-large")
	job := large.gang(busyboxImage, []string{"/busybox", "sh", "-c",
		"trap 'exit 0' TERM; while :; do /busybox sleep 1; done"})
	job.Spec.RunPolicy.SchedulingPolicy.PriorityClass = class.Name
	if err := env.client.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	large.until("has a reservation", func(job *v1alpha1.TrainingJob) bool {
		s := job.Status.Scheduling
		return s != nil && s.Reservation != nil && s.Reservation.Phase == v1alpha1.ReservationKept
	})
	lent := half("lent", func(_ *training, job *v1alpha1.TrainingJob) {
		job.Spec.RunPolicy.SchedulingPolicy.Backfill = v1alpha1.BackfillLent
	})
	lent.until("runs in lent capacity", func(job *v1alpha1.TrainingJob) bool {
		s := job.Status.Scheduling
		return isRunning(job) && s != nil && s.Backfill != nil && s.Backfill.How == v1alpha1.BackfillIsLent
	})
	lent.untilTrained(lent.program.steps/4, 0)
	if err := os.WriteFile(filepath.Join(first.place(), "done"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	job = lent.until("has left", func(job *v1alpha1.TrainingJob) bool {
		return job.Status.Attempt == 2 && job.Status.Phase == v1alpha1.PhaseQueued
	})
	w, from := job.Status.Work, job.Status.Checkpoint.ResumeFrom
	if w == nil || w.Recalled != 1 || w.LostSteps != 0 || from == nil {
		t.Fatalf("it was not recalled once after a save: %+v, resumes from %+v", w, from)
	}
	resume := from.Step
	t.Logf("it left %s after it was asked, with step %d", leftAfter(job), resume)
	large.remove()
	job = lent.untilSucceeded()
	if job.Status.Attempt != 2 || job.Status.Restarts != 0 {
		t.Errorf("attempt %d, %d restarts", job.Status.Attempt, job.Status.Restarts)
	}
	if err := resumedExactly(whole, lent.lines(), lent.program.steps, map[int32]int64{2: resume}); err != nil {
		t.Error(err)
	}
}

// leftAfter returns how long a gang drained.
func leftAfter(job *v1alpha1.TrainingJob) string {
	ts := job.Status.Transitions
	for i := 1; i < len(ts); i++ {
		if ts[i-1].Phase == v1alpha1.PhaseDraining {
			return ts[i].Time.Sub(ts[i-1].Time.Time).String()
		}
	}
	return "unknown"
}
