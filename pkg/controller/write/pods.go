package write

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// createError is the API server's answer to the create of a pod.
type createError struct{ error }

func (e createError) Unwrap() error { return e.error }

// createPods creates the ranks of a plan, in rank order and bounded in parallel. After an error no further
// create is begun. Where the last try was rejected the first rank goes alone, so that a quota that is still
// used up costs one write.
func (w *Objects) createPods(
	ctx context.Context, s *memory.Observed, ranks []spec.RankRef, attempt int32,
) error {
	if s.Backend == nil {
		return nil
	}
	if err := w.confirmAttempt(ctx, s.Job); err != nil {
		return err
	}
	// Some names of a former job's ranks are free before others, and a scheduler can count the pods that are
	// left towards the new gang, whose group has the same name: it would then place a part of the gang alone.
	if former := w.Owned.PodOfFormerJob(s.Job); former != nil {
		return memory.NameTaken(memory.PodKind, former.Name, s.Job, former)
	}
	if s.CreateBackoff != nil {
		if err := w.createRank(ctx, s, ranks[0], attempt); err != nil {
			return w.rejectionOf(s, err)
		}
		ranks = ranks[1:]
	}
	var stop atomic.Bool
	errs := w.each(ctx, len(ranks), func(i int) error {
		if stop.Load() || ctx.Err() != nil { // a lost lease cancels creates
			return nil
		}
		err := w.createRank(ctx, s, ranks[i], attempt)
		if err != nil {
			stop.Store(true)
		}
		return err
	})
	for i := range errs {
		errs[i] = w.rejectionOf(s, errs[i])
	}
	return firstOf(errs)
}

// createRank creates the pod of one rank.
func (w *Objects) createRank(
	ctx context.Context, s *memory.Observed, rank spec.RankRef, attempt int32,
) error {
	pod, err := render.Pod(s.Job, rank, attempt, s.Verdict.Admitted, s.Agent, s.GPUs)
	if err != nil { // a valid job has none: another client wrote its status
		return fmt.Errorf("rendering rank %s-%d: %w", rank.Role, rank.Index, err)
	}
	s.Backend.Join(pod, s.SchedulerGang(), s.Verdict)
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s.Job, memory.JobKind)}
	return w.createPod(ctx, s.Job, pod)
}

// createResolver creates the pod that searches the job's volume.
func (w *Objects) createResolver(ctx context.Context, s *memory.Observed) error {
	if err := w.confirmAttempt(ctx, s.Job); err != nil {
		return err
	}
	pod, err := render.Resolver(s.Job, s.Agent)
	if err != nil {
		return err
	}
	err = w.createPod(ctx, s.Job, pod)
	if errors.As(err, &createError{}) {
		if r, ok := memory.RejectedPod(err, s.SchedulerGang(), 0); ok {
			return r
		}
	}
	return err
}

func (w *Objects) createPod(ctx context.Context, job *v1alpha1.TrainingJob, pod *corev1.Pod) error {
	err := w.Client.Create(ctx, pod, client.FieldOwner(v1alpha1.OperatorName))
	if apierrors.IsAlreadyExists(err) {
		return w.resolveAlreadyExists(ctx, job, memory.PodKind, pod.Name)
	}
	if err != nil {
		return createError{fmt.Errorf("creating pod %s: %w", pod.Name, err)}
	}
	w.Metrics.PodsCreated.Inc()
	memory.TrimPod(pod)
	w.Owned.Assume(job.UID, memory.PodKind, pod)
	return nil
}

// rejectionOf returns the rejection that a createError is, or the error as it is. It must be called when no
// create is under way any more: those that succeeded count towards a quota.
func (w *Objects) rejectionOf(s *memory.Observed, err error) error {
	if !errors.As(err, &createError{}) {
		return err
	}
	if r, ok := memory.RejectedPod(err, s.SchedulerGang(), w.livePods(s.Job.UID)); ok {
		return r
	}
	return err
}

// livePods counts the pods of a job that use a part of a quota.
func (w *Objects) livePods(job types.UID) int64 {
	var n int64
	for _, o := range w.Owned.Objects(job) {
		if pod, ok := o.Pod(); ok && !observation.Ended(pod) {
			n++
		}
	}
	return n
}

// deletePods deletes the pods of a plan by UID.
func (w *Objects) deletePods(
	ctx context.Context, job *v1alpha1.TrainingJob, deletions []decision.PodDeletion,
) error {
	return firstOf(w.each(ctx, len(deletions), func(i int) error {
		return w.deletePod(ctx, job, deletions[i])
	}))
}

func (w *Objects) deletePod(ctx context.Context, job *v1alpha1.TrainingJob, d decision.PodDeletion) error {
	pod := d.Pod
	if pod.DeletionTimestamp != nil && !d.Force {
		return nil
	}
	uid := pod.UID
	options := []client.DeleteOption{client.Preconditions{UID: &uid}}
	if d.Force {
		log.FromContext(ctx).Info("Deleting by force", "pod", pod.Name, "why", d.Why)
		options = append(options, client.GracePeriodSeconds(0))
	}
	target := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}}
	err := w.Client.Delete(ctx, target, options...)
	if err != nil && !memory.IsGoneOrReplaced(err) {
		return fmt.Errorf("deleting pod %s: %w", pod.Name, err)
	}
	if err == nil {
		w.Metrics.PodsDeleted.Inc()
	}
	w.Owned.AssumeDeleted(job.UID, uid)
	return nil
}

// firstOf returns the error of the first rank, a rejection before any other: the same cause gives the same
// message whatever the order of the answers was.
func firstOf(errs []error) error {
	var first error
	for _, err := range errs {
		if _, rejected := errors.AsType[*memory.Rejection](err); rejected {
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
}
