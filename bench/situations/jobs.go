package situations

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/bench/measure"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// within bounds each wait: what takes longer has gone wrong.
const within = 5 * time.Minute

// gang is one that was submitted.
type gang struct {
	workload.Gang
	// began is when all of its ranks were first seen to run.
	began time.Time
}

// sizes of gangs are 1, 2, 4, 8, 16 and 32 GPUs.
const sizes = 6

// shape of the nth size: less than a node or whole nodes, and at most a quarter of them.
func (g *Ground) shape(nth int) (ranks, gpus int) {
	total := 1 << (nth % sizes)
	if total <= gpusPerNode {
		return 1, total
	}
	return min(total/gpusPerNode, max(1, g.Nodes/4)), gpusPerNode
}

// rate of all trainers, in steps a second.
const rate = 10

// savesOften saves every 3 to 12 s, and not when it is stopped.
func savesOften(r *rand.Rand) string { return savesEvery(3+r.IntN(10), "100ms") }

// savesEvery returns a trainer that saves every so many seconds, and not when it is stopped.
func savesEvery(seconds int, save string) string {
	return fmt.Sprintf("steps=100000000 rate=%d every=%ds save=%s start=1s on-sigterm=die", rate, seconds, save)
}

// trains makes a job one whose trainer is simulated, and saves checkpoints.
func trains(trainer string) func(*v1alpha1.TrainingJob) {
	return func(job *v1alpha1.TrainingJob) {
		workers := job.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
		workers.Template.Annotations = map[string]string{localcluster.AnnotationTrainer: trainer}
		job.Spec.ReplicaSpecs[v1alpha1.RoleWorker] = workers
		job.Spec.Checkpoint = &v1alpha1.CheckpointSpec{
			PVC: v1alpha1.CheckpointClaim{StorageClassName: new(localcluster.StorageClass)},
		}
	}
}

// submit a gang, as its job is changed.
func (on *cluster) submit(ctx context.Context, g workload.Gang, change func(*v1alpha1.TrainingJob)) error {
	for _, object := range on.jobs.Render(namespace, g) {
		if job, ok := object.(*v1alpha1.TrainingJob); ok {
			change(job)
		}
		if err := on.api.Create(ctx, object); err != nil {
			return fmt.Errorf("submitting %s: %w", g.Name, err)
		}
	}
	return nil
}

// remove jobs, and wait until their pods are gone.
func (on *cluster) remove(ctx context.Context, names []string) error {
	for _, name := range names {
		job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		err := on.api.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if err != nil {
			return fmt.Errorf("deleting %s: %w", name, err)
		}
	}
	return on.until(ctx, "the pods of deleted gangs are gone", func(v view) bool {
		return !slices.ContainsFunc(names, func(name string) bool {
			return len(v.pods[name]) > 0 || v.jobs[name] != nil
		})
	})
}

// view of all jobs and their pods, by the gang's name.
type view struct {
	jobs map[string]*v1alpha1.TrainingJob
	pods map[string][]corev1.Pod
}

// look at all of them; on a machine that is too busy to answer, again.
func (on *cluster) look(ctx context.Context) (view, error) {
	var v view
	return v, on.until(ctx, "the API server answers", func(now view) bool { v = now; return true })
}

func (on *cluster) list(ctx context.Context) (view, error) {
	v := view{jobs: map[string]*v1alpha1.TrainingJob{}, pods: map[string][]corev1.Pod{}}
	var jobs v1alpha1.TrainingJobList
	if err := on.api.List(ctx, &jobs, client.InNamespace(namespace)); err != nil {
		return v, fmt.Errorf("listing jobs: %w", err)
	}
	for i := range jobs.Items {
		v.jobs[jobs.Items[i].Name] = &jobs.Items[i]
	}
	var pods corev1.PodList
	if err := on.api.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		return v, fmt.Errorf("listing pods: %w", err)
	}
	for _, pod := range pods.Items {
		name := pod.Labels[measure.LabelGang]
		v.pods[name] = append(v.pods[name], pod)
	}
	return v, nil
}

// until waits until something is true.
func (on *cluster) until(ctx context.Context, what string, ok func(view) bool) error {
	const pause = 100 * time.Millisecond
	var last view
	var failed error
	err := wait.PollUntilContextTimeout(ctx, pause, within, true, func(ctx context.Context) (bool, error) {
		v, err := on.list(ctx)
		last, failed = v, err
		return err == nil && ok(v), nil
	})
	if err != nil {
		return fmt.Errorf("waiting until %s: %w; %s", what, errors.Join(err, failed), last)
	}
	return nil
}

// String says which phase each job is in.
func (v view) String() string {
	text := "jobs:"
	for name, job := range v.jobs {
		text += fmt.Sprintf(" %s %s", name, job.Status.Phase)
		if s := job.Status.Scheduling; s != nil && s.Blocker != nil {
			text += " (" + s.Blocker.Reason + ")"
		}
	}
	return text
}

// runs reports whether all ranks of a gang run.
func (v view) runs(g workload.Gang) bool {
	running := 0
	for _, pod := range v.pods[g.Name] {
		if pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
			running++
		}
	}
	job := v.jobs[g.Name]
	return job != nil && job.Status.Phase == v1alpha1.PhaseRunning && running == g.Ranks
}
