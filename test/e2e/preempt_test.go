//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

const (
	steps       = 300
	stepSeconds = "0.05"
	// interval between checkpoints, in seconds.
	interval = 3
)

// line that rank 0 of a trainer writes.
type line struct {
	Attempt int32  `json:"attempt"`
	Event   string `json:"event"`
	Step    int64  `json:"step"`
	// Loss in a float's hexadecimal form, which loses no bit, and the SHA-256 of the Weights at the end.
	Loss    string `json:"loss"`
	Weights string `json:"weights"`
}

// training is one job with a volume of its own.
type training struct {
	*world
	t         *testing.T
	namespace string
	name      string
	disk      string
}

func (w *world) newTraining(t *testing.T, namespace, name string) *training {
	return &training{world: w, t: t, namespace: namespace, name: name, disk: filepath.Join(w.dir, "disks", namespace+"-"+name)}
}

// submit a gang of four ranks with checkpoints.
func (j *training) submit(scheduler v1alpha1.SchedulerName, args ...string) {
	j.t.Helper()
	if err := os.MkdirAll(j.disk, 0o755); err != nil {
		j.t.Fatal(err)
	}
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	none := ""
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: j.namespace + "-" + j.name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: j.disk}},
		},
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: j.namespace, Name: j.name},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &none, VolumeName: volume.Name, AccessModes: modes, Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
	}
	job := j.gang(scheduler, append([]string{
		"/usr/bin/python3", "/opt/train.py", "--steps", fmt.Sprint(steps), "--step-seconds", stepSeconds, "--log", "/checkpoints/losses.jsonl",
	}, args...))
	every, grace := int32(interval), int32(20)
	job.Spec.Checkpoint = &v1alpha1.CheckpointSpec{Interval: &every, GraceSeconds: &grace}
	job.Spec.Checkpoint.PVC.ClaimName = claim.Name
	for _, o := range []client.Object{volume, claim, job} {
		if err := j.client.Create(j.t.Context(), o); err != nil {
			j.t.Fatal(err)
		}
	}
}

// gang of four ranks that fill the node.
func (j *training) gang(scheduler v1alpha1.SchedulerName, command []string) *v1alpha1.TrainingJob {
	ranks := int32(gpus)
	job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: j.namespace, Name: j.name}}
	job.Spec.Framework, job.Spec.Image, job.Spec.Replicas, job.Spec.Command = v1alpha1.FrameworkPyTorch, trainerImage, &ranks, command
	job.Spec.Resources.Requests = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("64Mi"), "nvidia.com/gpu": resource.MustParse("1"),
	}
	job.Spec.RunPolicy.SchedulingPolicy.Scheduler = scheduler
	return job
}

// pushOut submits a gang of higher priority that needs the whole node for a few seconds.
func (w *world) pushOut(t *testing.T, scheduler v1alpha1.SchedulerName, namespace string) *training {
	t.Helper()
	j := w.newTraining(t, namespace, "high")
	job := j.gang(scheduler, []string{"/usr/bin/python3", "-c", "import time; time.sleep(5)"})
	job.Spec.RunPolicy.SchedulingPolicy.PriorityClass = highPriority
	if err := w.client.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	return j
}

// until the job is as wanted; the text says what it still lacks.
func (j *training) until(what string, is func(*v1alpha1.TrainingJob) bool) *v1alpha1.TrainingJob {
	j.t.Helper()
	ctx, cancel := context.WithTimeout(j.t.Context(), patience)
	defer cancel()
	job := &v1alpha1.TrainingJob{}
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := j.client.Get(ctx, client.ObjectKey{Namespace: j.namespace, Name: j.name}, job)
		if err == nil && job.Status.Phase == v1alpha1.PhaseFailed {
			err = errors.New("the job has failed")
		}
		return err == nil && is(job), err
	})
	if err != nil {
		status, _ := json.MarshalIndent(job.Status, "", " ")
		j.t.Fatalf("waiting until %s %s: %v; its status:\n%s", j.name, what, err, status)
	}
	return job
}

func (j *training) untilSucceeded() *v1alpha1.TrainingJob {
	j.t.Helper()
	return j.until("has succeeded", func(job *v1alpha1.TrainingJob) bool { return job.Status.Phase == v1alpha1.PhaseSucceeded })
}

// untilTrained waits until so many steps are trained, by the trainer's own log.
func (j *training) untilTrained(step int64) {
	j.t.Helper()
	j.until(fmt.Sprintf("has trained %d steps", step), func(*v1alpha1.TrainingJob) bool {
		return slices.ContainsFunc(j.lines(), func(l line) bool { return l.Step >= step })
	})
}

// lines that rank 0 has written, of all attempts. A last one that is half written is left out.
func (j *training) lines() []line {
	j.t.Helper()
	f, err := os.Open(filepath.Join(j.disk, "losses.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		j.t.Fatal(err)
	}
	defer f.Close()
	var all []line
	for in := bufio.NewScanner(f); in.Scan(); {
		var l line
		if json.Unmarshal(in.Bytes(), &l) == nil {
			all = append(all, l)
		}
	}
	return all
}

// resumedExactly says what is wrong with the trace of a training that was interrupted, measured by one that was not: every attempt goes
// on with the step after its resume point, no step is trained again that the checkpoint covered, and every loss and the final weights
// are the same, bit for bit. points are the steps that the attempts from the second on resumed from.
func resumedExactly(whole, interrupted []line, points []int64) error {
	losses, weights := map[int64]string{}, ""
	for _, l := range whole {
		switch l.Event {
		case "step":
			losses[l.Step] = l.Loss
		case "end":
			weights = l.Weights
		}
	}
	if len(losses) != steps || weights == "" {
		return fmt.Errorf("the training to compare with has %d of %d steps", len(losses), steps)
	}
	first := map[int32]int64{}
	trained := map[int64]bool{}
	last := line{}
	for _, l := range interrupted {
		if last = l; l.Event != "step" {
			continue
		}
		if _, seen := first[l.Attempt]; !seen {
			first[l.Attempt] = l.Step
		}
		trained[l.Step] = true
		if l.Loss != losses[l.Step] {
			return fmt.Errorf("step %d of attempt %d has the loss %s, uninterrupted %s", l.Step, l.Attempt, l.Loss, losses[l.Step])
		}
	}
	for i, point := range points {
		attempt := int32(i + 2)
		if point <= 0 || point >= steps {
			return fmt.Errorf("attempt %d resumes from step %d of %d: nothing is proven", attempt, point, steps)
		}
		if first[attempt] != point+1 {
			return fmt.Errorf("attempt %d begins with step %d, and its resume point is step %d", attempt, first[attempt], point)
		}
	}
	if len(first) != len(points)+1 {
		return fmt.Errorf("%d attempts have trained, not %d", len(first), len(points)+1)
	}
	if len(trained) != steps || last.Event != "end" {
		return fmt.Errorf("%d of %d steps are trained", len(trained), steps)
	}
	if last.Weights != weights {
		return fmt.Errorf("the weights are %s in the end, uninterrupted %s", last.Weights, weights)
	}
	return nil
}

func TestPyTorchResumesBitForBit(t *testing.T) {
	w := theWorld
	t.Cleanup(func() {
		if t.Failed() {
			w.tell(t)
		}
	})
	const namespace = "default"
	account(t, w, namespace)
	plain := w.newTraining(t, namespace, "plain")
	plain.submit(v1alpha1.SchedulerVolcano)
	plain.untilSucceeded()

	for _, scheduler := range []v1alpha1.SchedulerName{v1alpha1.SchedulerVolcano, v1alpha1.SchedulerNative} {
		for name, c := range map[string]struct {
			args []string
			// kill the operator when the preemption has begun.
			kill bool
			// broken trainers must be caught.
			broken bool
		}{
			"cooperates":         {},
			"dies-at-sigterm":    {args: []string{"--die-at-once"}},
			"operator-is-killed": {kill: true},
			"ignores-its-resume": {args: []string{"--ignore-resume"}, broken: true},
		} {
			t.Run(string(scheduler)+"/"+name, func(t *testing.T) {
				low := w.newTraining(t, namespace, strings.ToLower(string(scheduler))+"-"+name)
				low.submit(scheduler, c.args...)
				low.untilTrained(100) // some checkpoints are there
				high := w.pushOut(t, scheduler, namespace)
				if c.kill {
					low.until("is being preempted", func(job *v1alpha1.TrainingJob) bool {
						return job.Status.Phase == v1alpha1.PhaseDraining || job.Status.Attempt > 1
					})
					w.operator.kill()
					if err := w.operator.start(); err != nil {
						t.Fatal(err)
					}
				}
				high.untilSucceeded()
				job := low.untilSucceeded()
				if err := w.client.Delete(t.Context(), high.gang(scheduler, nil)); err != nil {
					t.Fatal(err)
				}
				if job.Status.Checkpoint == nil || job.Status.Checkpoint.ResumeFrom == nil {
					t.Fatalf("no resume point: %+v", job.Status.Checkpoint)
				}
				point := job.Status.Checkpoint.ResumeFrom
				err := resumedExactly(plain.lines(), low.lines(), []int64{point.Step})
				ignored := meta.IsStatusConditionTrue(job.Status.Conditions, v1alpha1.ConditionResumeIgnored)
				switch {
				case c.broken && (err == nil || !ignored):
					t.Errorf("a trainer that starts at 0 again is not noticed: by its losses: %v, by the condition ResumeIgnored: %t", err, ignored)
				case !c.broken && (err != nil || ignored):
					t.Errorf("%v; ResumeIgnored is %t", err, ignored)
				}
				if job.Status.Restarts != 0 || job.Status.Preemptions != 1 || job.Status.Attempt != 2 {
					t.Errorf("restarts %d, preemptions %d, attempt %d; want 0, 1, 2", job.Status.Restarts, job.Status.Preemptions, job.Status.Attempt)
				}
				reached := int64(0)
				for _, l := range low.lines() {
					if l.Attempt == 1 {
						reached = max(reached, l.Step)
					}
				}
				t.Logf("attempt 1 reached step %d, resumed from %d; lost %d steps, by the status %d steps and %d s; %d s from the preemption until it ran again; %v",
					reached, point.Step, reached-point.Step, job.Status.Work.LostSteps, job.Status.Work.LostSeconds, job.Status.Work.ResumeSeconds, err)
				if !c.broken && name != "dies-at-sigterm" && reached-point.Step > 1 {
					t.Errorf("a trainer that cooperates lost %d steps", reached-point.Step)
				}
			})
		}
	}
}

// account waits for the namespace's service account, without which no pod is let in.
func account(t *testing.T, w *world, namespace string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		err := w.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "default"}, &corev1.ServiceAccount{})
		return err == nil, client.IgnoreNotFound(err)
	})
	if err != nil {
		t.Fatal(err)
	}
}
