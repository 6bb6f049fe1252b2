package fakescheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Config of a Scheduler; the zero value is a correct one that leaves pods to somebody else's kubelet.
type Config struct {
	Habits
	// Kubelet: play the kubelet of every node. Bound pods run, deleted ones go; how a pod ends is the test's to say.
	Kubelet bool
	// Grace is for how many steps the kubelet lets a deleted pod live on, 0 for none.
	Grace int
	// Now is the clock of what is written; default time.Now.
	Now func() time.Time
}

// Scheduler reads the fake's dialect. It keeps nothing between steps that a real one would not find again after a restart,
// but what its kubelet and its mutants remember.
type Scheduler struct {
	client client.Client
	config Config

	// bound pods by UID, remembered for NeverReleases alone.
	bound map[string]Pod
	// ending counts the steps since a pod's deletion, by UID.
	ending map[string]int
}

// New scheduler. The client must not cache: each step acts on what the API server holds, and the next step sees what the
// last one did.
func New(c client.Client, config Config) *Scheduler {
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Scheduler{client: c, config: config, bound: map[string]Pod{}, ending: map[string]int{}}
}

// Step looks at the cluster once and does what follows. What is overtaken by somebody else's write is left to the next
// step; other errors are returned together, after everything was tried.
func (s *Scheduler) Step(ctx context.Context) (Decision, error) {
	w, err := s.gather(ctx)
	if err != nil {
		return Decision{}, err
	}
	d := Decide(w.Snapshot, s.config.Habits)
	err = s.apply(ctx, w, d)
	if s.config.Kubelet {
		err = errors.Join(err, s.kubelet(ctx, w))
	}
	return d, err
}

// Run steps until the context ends. Errors are logged; the next step is the retry.
func (s *Scheduler) Run(ctx context.Context, interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if _, err := s.Step(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "Step of the fake scheduler")
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Settle steps until a step decides nothing, at most n times.
func (s *Scheduler) Settle(ctx context.Context, n int) error {
	for range n {
		d, err := s.Step(ctx)
		if err != nil {
			return err
		}
		if len(d.Statuses)+len(d.Binds)+len(d.Evictions)+len(d.Drops) == 0 {
			return nil
		}
	}
	return fmt.Errorf("the fake scheduler still decides something after %d steps", n)
}
