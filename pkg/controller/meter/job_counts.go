package meter

import (
	"context"
	"fmt"
	"sync/atomic"

	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// JobCounts are the numbers of queued and of running jobs in the cache. The periods of what each of them
// repeats grow with these numbers.
type JobCounts struct {
	Waiting, Running atomic.Int64
	// Complete is true from when the jobs that the process found at its start are counted.
	Complete atomic.Bool
}

// Follow jobs from when the manager runs. Not before: a manager that is to end while it fills informers that
// were asked for before its start does not end (controller-runtime 0.25.2, runnableGroup.Start: it waits in a
// loop for a cache that has given up).
func (c *JobCounts) Follow(mgr manager.Manager) error {
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		informer, err := mgr.GetCache().GetInformer(ctx, &v1alpha1.TrainingJob{})
		var counted cache.ResourceEventHandlerRegistration
		if err == nil {
			counted, err = informer.AddEventHandler(c)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("counting the jobs: %w", err)
		}
		c.Complete.Store(cache.WaitForCacheSync(ctx.Done(), counted.HasSynced))
		return nil
	}))
}

// OnAdd implements cache.ResourceEventHandler, as do the others.
func (c *JobCounts) OnAdd(job any, _ bool) { c.change(nil, job) }

func (c *JobCounts) OnUpdate(before, after any) { c.change(before, after) }

func (c *JobCounts) OnDelete(job any) {
	if unknown, ok := job.(cache.DeletedFinalStateUnknown); ok {
		job = unknown.Obj
	}
	c.change(job, nil)
}

// change each number in one step: a job that stays in its phase is counted at every moment.
func (c *JobCounts) change(before, after any) {
	c.Waiting.Add(isIn(v1alpha1.PhaseQueued, after) - isIn(v1alpha1.PhaseQueued, before))
	c.Running.Add(isIn(v1alpha1.PhaseRunning, after) - isIn(v1alpha1.PhaseRunning, before))
}

// isIn is 1 for a job in the phase, else 0.
func isIn(phase v1alpha1.Phase, o any) int64 {
	if job, ok := o.(*v1alpha1.TrainingJob); ok && job.Status.Phase == phase {
		return 1
	}
	return 0
}
