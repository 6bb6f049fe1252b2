package controller

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
)

// createPods creates the ranks of a plan, in rank order and bounded in parallel. After a refusal no further create is
// begun. Where the last try was refused the first rank goes alone, so that a quota that is still used up costs one write.
func (r *Reconciler) createPods(ctx context.Context, s *scene, plan trainingjob.Plan) error {
	if s.Backend == nil {
		return nil
	}
	if err := r.confirm(ctx, s.Job); err != nil {
		return err
	}
	// Some names of a former job's ranks are free before others, and a scheduler may count what is left of them towards the new gang,
	// whose group has the same name: a part of it would be placed alone.
	if former := r.ledger.formerPod(s.Job); former != nil {
		return nameTaken(podKind, former.Name, s.Job, former)
	}
	ranks := plan.Create
	if s.CreateBackoff != nil {
		if err := r.createPod(ctx, s, ranks[0], plan.Status.Attempt); err != nil {
			return r.judge(s, err)
		}
		ranks = ranks[1:]
	}
	errs := make([]error, len(ranks))
	var stop atomic.Bool
	workqueue.ParallelizeUntil(ctx, r.parallel, len(ranks), func(i int) {
		if stop.Load() || ctx.Err() != nil { // a lost lease cancels creates
			return
		}
		if errs[i] = r.createPod(ctx, s, ranks[i], plan.Status.Attempt); errs[i] != nil {
			stop.Store(true)
		}
	})
	for i := range errs {
		errs[i] = r.judge(s, errs[i])
	}
	return firstOf(errs)
}

// rejected is the API server's answer to the create of a pod.
type rejected struct{ error }

func (r rejected) Unwrap() error { return r.error }

// judge what the API server has rejected, when no create is under way any more: those that it took count towards a quota.
func (r *Reconciler) judge(s *scene, err error) error {
	if !errors.As(err, &rejected{}) {
		return err
	}
	if refused, ok := refusedPod(err, s.gang, r.livePods(s.Job.UID)); ok {
		return refused
	}
	return err
}

// createPod creates one rank.
func (r *Reconciler) createPod(ctx context.Context, s *scene, rank trainingjob.RankRef, attempt int32) error {
	pod, err := trainingjob.RenderPod(s.Job, rank, attempt, s.Verdict.Admitted, s.Agent)
	if err != nil { // a valid job has none: its status was written by somebody else
		return fmt.Errorf("rendering rank %s-%d: %w", rank.Role, rank.Index, err)
	}
	s.Backend.Join(pod, s.gang, s.Verdict)
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s.Job, jobKind)}
	err = r.client.Create(ctx, pod, client.FieldOwner(v1alpha1.OperatorName))
	if apierrors.IsAlreadyExists(err) {
		return r.occupied(ctx, s.Job, podKind, pod.Name)
	}
	if err != nil {
		return rejected{fmt.Errorf("creating pod %s: %w", pod.Name, err)}
	}
	r.metrics.podsCreated.Inc()
	trimPod(pod)
	r.ledger.wrote(s.Job.UID, podKind, pod)
	return nil
}

// livePods counts those that hold a part of a quota.
func (r *Reconciler) livePods(job types.UID) int64 {
	var n int64
	all, _, _ := r.ledger.holdings(job)
	for _, h := range all {
		if pod, ok := asPod(h); ok && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			n++
		}
	}
	return n
}

// deletePods deletes the pods of a plan by UID.
func (r *Reconciler) deletePods(ctx context.Context, job *v1alpha1.TrainingJob, deletions []trainingjob.PodDeletion) error {
	errs := make([]error, len(deletions))
	workqueue.ParallelizeUntil(ctx, r.parallel, len(deletions), func(i int) {
		errs[i] = r.deletePod(ctx, job, deletions[i].Pod)
	})
	return firstOf(errs)
}

func (r *Reconciler) deletePod(ctx context.Context, job *v1alpha1.TrainingJob, pod *corev1.Pod) error {
	if pod.DeletionTimestamp != nil {
		return nil
	}
	uid := pod.UID
	target := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}}
	err := r.client.Delete(ctx, target, client.Preconditions{UID: &uid})
	if err != nil && !goneOrReplaced(err) {
		return fmt.Errorf("deleting pod %s: %w", pod.Name, err)
	}
	if err == nil {
		r.metrics.podsDeleted.Inc()
	}
	r.ledger.deleted(job.UID, uid)
	return nil
}

// firstOf is the error of the first rank, a refusal before any other: the same cause gives the same message whatever
// the order of the answers was.
func firstOf(errs []error) error {
	var first error
	for _, err := range errs {
		var refused *refusal
		if errors.As(err, &refused) {
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
}
