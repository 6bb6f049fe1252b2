package controller

import (
	"context"
	"fmt"
	"sync/atomic"

	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// waitingJobs counts the jobs that are queued, by what the cache tells of jobs.
type waitingJobs struct{ n atomic.Int64 }

// follow jobs from when the manager runs. Not before: a manager that is to end while it fills informers that
// were asked for before its start does not end (controller-runtime 0.25.2, runnableGroup.Start: it waits in a
// loop for a cache that has given up).
func (w *waitingJobs) follow(mgr manager.Manager) error {
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		informer, err := mgr.GetCache().GetInformer(ctx, &v1alpha1.TrainingJob{})
		if err == nil {
			_, err = informer.AddEventHandler(w)
		}
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("counting the jobs that wait: %w", err)
		}
		return nil
	}))
}

// count of the jobs that are queued.
func (w *waitingJobs) count() int { return int(w.n.Load()) }

// OnAdd implements cache.ResourceEventHandler, as do the others.
func (w *waitingJobs) OnAdd(job any, _ bool) { w.n.Add(isQueued(job)) }

func (w *waitingJobs) OnUpdate(before, after any) { w.n.Add(isQueued(after) - isQueued(before)) }

func (w *waitingJobs) OnDelete(job any) {
	if unknown, ok := job.(cache.DeletedFinalStateUnknown); ok {
		job = unknown.Obj
	}
	w.n.Add(-isQueued(job))
}

// isQueued is 1 for a job that is, else 0.
func isQueued(o any) int64 {
	if job, ok := o.(*v1alpha1.TrainingJob); ok && job.Status.Phase == v1alpha1.PhaseQueued {
		return 1
	}
	return 0
}
