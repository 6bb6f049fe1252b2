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
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// program is what the ranks run. Its first attempt pauses after each step and so takes a minute, long enough
// to be interrupted in the middle even on a slow machine. The pauses do not affect what it computes.
type program struct {
	name, image string
	command     []string
	steps       int64
	pause       string // seconds
	interval    int32  // seconds between checkpoints
}

func pytorch() program {
	return program{"pytorch", pytorchImage, []string{"/usr/bin/python3", "/opt/train.py"}, 600, "0.1", 3}
}

func gotrainer() program {
	return program{"go", goImage, []string{"/gotrainer"}, 1000, "0.1", 1}
}

// training is a job with a volume of its own.
type training struct {
	*environment
	t         *testing.T
	program   program
	scheduler v1alpha1.SchedulerName
	name      string
	disk      string
}

func (e *environment) newTraining(t *testing.T, p program, scheduler v1alpha1.SchedulerName,
	name string) *training {
	return &training{environment: e, t: t, program: p, scheduler: scheduler, name: name,
		disk: filepath.Join(e.dir, "disks", name)}
}

// submit a gang of four ranks with checkpoints.
func (j *training) submit(args ...string) {
	j.t.Helper()
	command := slices.Concat(j.program.command, []string{"--steps", fmt.Sprint(j.program.steps), "--log",
		"/checkpoints/losses.jsonl"}, args)
	job := j.gang(j.program.image, command)
	j.saveOnDisk(job, j.program.interval)
	if err := j.client.Create(j.t.Context(), job); err != nil {
		j.t.Fatal(err)
	}
}

// saveOnDisk gives a job a disk for its checkpoints, and the claim of it.
func (j *training) saveOnDisk(job *v1alpha1.TrainingJob, interval int32) {
	j.t.Helper()
	// Ranks of any user save there.
	if err := errors.Join(os.MkdirAll(j.disk, 0o777), os.Chmod(j.disk, 0o777)); err != nil {
		j.t.Fatal(err)
	}
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	none := ""
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: j.name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: j.disk},
			},
		},
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: j.name},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &none, VolumeName: volume.Name, AccessModes: modes,
			Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
	}
	grace := int32(60)
	job.Spec.Checkpoint = &v1alpha1.CheckpointSpec{Interval: &interval, GraceSeconds: &grace}
	job.Spec.Checkpoint.PVC.ClaimName = claim.Name
	for _, o := range []client.Object{volume, claim} {
		if err := j.client.Create(j.t.Context(), o); err != nil {
			j.t.Fatal(err)
		}
	}
}

// gang of four ranks that fill the node.
func (j *training) gang(image string, command []string) *v1alpha1.TrainingJob {
	ranks := int32(gpus)
	job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: j.name}}
	job.Spec.Framework, job.Spec.Image = v1alpha1.FrameworkPyTorch, image
	job.Spec.Replicas, job.Spec.Command = &ranks, command
	job.Spec.Resources.Requests = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("64Mi"),
		gpu: resource.MustParse("1"),
	}
	job.Spec.RunPolicy.SchedulingPolicy.Scheduler = j.scheduler
	if j.scheduler == v1alpha1.SchedulerKueue {
		job.Labels = map[string]string{kueueQueueLabel: kueueQueue}
	}
	return job
}

// preempt submits a gang of higher priority that needs the whole node, until it is removed.
func (j *training) preempt() *training {
	j.t.Helper()
	return j.preemptAs(highPriority)
}

// preemptAs a gang of a priority class.
func (j *training) preemptAs(class string) *training {
	j.t.Helper()
	high := j.newTraining(j.t, program{}, j.scheduler, j.name+"-high")
	job := high.gang(busyboxImage, []string{"/busybox", "sh", "-c",
		"trap 'exit 0' TERM; while :; do /busybox sleep 1; done"})
	job.Spec.RunPolicy.SchedulingPolicy.PriorityClass = class
	if err := j.client.Create(j.t.Context(), job); err != nil {
		j.t.Fatal(err)
	}
	return high
}

// remove a job once it runs on the node. By then no pod of the preempted gang is left.
func (j *training) remove() {
	j.t.Helper()
	job := j.until("runs", func(job *v1alpha1.TrainingJob) bool {
		return job.Status.Phase == v1alpha1.PhaseRunning
	})
	if err := j.client.Delete(j.t.Context(), job); err != nil {
		j.t.Fatal(err)
	}
}

// get the job.
func (j *training) get() *v1alpha1.TrainingJob {
	j.t.Helper()
	return j.until("is there", func(*v1alpha1.TrainingJob) bool { return true })
}

// until waits until the job is as wanted.
func (j *training) until(what string, is func(*v1alpha1.TrainingJob) bool) *v1alpha1.TrainingJob {
	j.t.Helper()
	ctx, cancel := context.WithTimeout(j.t.Context(), patience)
	defer cancel()
	job := &v1alpha1.TrainingJob{}
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := j.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: j.name}, job)
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
	return j.until("has succeeded",
		func(job *v1alpha1.TrainingJob) bool { return job.Status.Phase == v1alpha1.PhaseSucceeded })
}

func (j *training) untilDraining() {
	j.t.Helper()
	j.until("is being drained", func(job *v1alpha1.TrainingJob) bool {
		return job.Status.Phase == v1alpha1.PhaseDraining || job.Status.Attempt > 1
	})
}

// untilTrained waits until a number of steps are trained and of checkpoints are complete, according to the
// disk.
func (j *training) untilTrained(step int64, complete int) {
	j.t.Helper()
	j.until(fmt.Sprintf("has trained %d steps and saved %d checkpoints", step, complete),
		func(*v1alpha1.TrainingJob) bool {
			return reached(j.lines(), 1) >= step && len(j.complete()) >= complete
		})
}

// lines that rank 0 has written in all attempts, without a partial last one.
func (j *training) lines() []line {
	j.t.Helper()
	f, err := os.Open(filepath.Join(j.place(), "losses.jsonl"))
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

// place is the job's own directory on the disk, which its ranks mount; "" while there is none.
func (j *training) place() string {
	places, err := filepath.Glob(filepath.Join(j.disk, j.name+"-*"))
	if err != nil || len(places) != 1 {
		return ""
	}
	return places[0]
}

// complete checkpoints on the disk according to package checkpoint, the newest last.
func (j *training) complete() []checkpoint.Found {
	j.t.Helper()
	place := j.place()
	if place == "" {
		return nil // no checkpoint yet
	}
	found, err := checkpoint.Scan(os.DirFS(place), ".", checkpoint.Options{Sums: true})
	if err != nil {
		j.t.Fatal(err)
	}
	found = slices.DeleteFunc(found, func(f checkpoint.Found) bool { return f.State != checkpoint.Complete })
	slices.SortFunc(found, func(a, b checkpoint.Found) int { return int(a.Step - b.Step) })
	return found
}

// tear the newest complete checkpoint by truncating half of its data. It returns its step and that of the
// previous one.
func (j *training) tear() (torn, before int64) {
	j.t.Helper()
	complete := j.complete()
	if len(complete) < 2 {
		j.t.Fatalf("%d complete checkpoints: too few to tear one", len(complete))
	}
	newest := complete[len(complete)-1]
	files, err := filepath.Glob(filepath.Join(j.disk, j.name+"-*", newest.Path, "state.*"))
	if err != nil || len(files) != 1 {
		j.t.Fatalf("the files of %s: %v, %v", newest.Path, files, err)
	}
	info, err := os.Stat(files[0])
	if err == nil {
		err = os.Truncate(files[0], info.Size()/2)
	}
	if err != nil {
		j.t.Fatal(err)
	}
	return newest.Step, complete[len(complete)-2].Step
}
