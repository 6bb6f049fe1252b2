package controller

import (
	"context"
	"fmt"
	"sync/atomic"

	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// jobCounts are the numbers of jobs that are queued and that run, by what the cache tells of jobs. What every
// one of them asks for now and then is asked for the more rarely the more there are.
type jobCounts struct{ waiting, running atomic.Int64 }

// follow jobs from when the manager runs. Not before: a manager that is to end while it fills informers that
// were asked for before its start does not end (controller-runtime 0.25.2, runnableGroup.Start: it waits in a
// loop for a cache that has given up).
func (c *jobCounts) follow(mgr manager.Manager) error {
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		informer, err := mgr.GetCache().GetInformer(ctx, &v1alpha1.TrainingJob{})
		if err == nil {
			_, err = informer.AddEventHandler(c)
		}
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("counting the jobs: %w", err)
		}
		return nil
	}))
}

// OnAdd implements cache.ResourceEventHandler, as do the others.
func (c *jobCounts) OnAdd(job any, _ bool) { c.add(job, 1) }

func (c *jobCounts) OnUpdate(before, after any) {
	c.add(before, -1)
	c.add(after, 1)
}

func (c *jobCounts) OnDelete(job any) {
	if unknown, ok := job.(cache.DeletedFinalStateUnknown); ok {
		job = unknown.Obj
	}
	c.add(job, -1)
}

// add n to the number that a job is counted in.
func (c *jobCounts) add(o any, n int64) {
	job, ok := o.(*v1alpha1.TrainingJob)
	if !ok {
		return
	}
	switch job.Status.Phase {
	case v1alpha1.PhaseQueued:
		c.waiting.Add(n)
	case v1alpha1.PhaseRunning:
		c.running.Add(n)
	}
}
