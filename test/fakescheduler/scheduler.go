package fakescheduler

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Config of a Scheduler. The zero value is a correct scheduler without a kubelet.
type Config struct {
	Behavior
	// Kubelet simulates the kubelet of every node: bound pods run and deleted ones are removed. The test decides
	// how a pod ends.
	Kubelet bool
	// Grace is the number of steps for which the kubelet keeps a deleted pod; 0 removes it at once.
	Grace int
	// Now is the clock for timestamps; the default is time.Now.
	Now func() time.Time
}

// Scheduler serves the fake's dialect. Apart from the state of its kubelet and its mutants it keeps nothing
// between steps.
type Scheduler struct {
	client client.Client
	config Config

	// bound pods by UID; only NeverReleases uses it.
	bound map[string]Pod
	// ending counts the steps since a pod's deletion, by UID.
	ending map[string]int
	// addresses is how many pods were given one.
	addresses int
}

// New returns a scheduler. The client must not cache, so that each step acts on the current state and sees
// the writes of the previous one.
func New(c client.Client, config Config) *Scheduler {
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Scheduler{client: c, config: config, bound: map[string]Pod{}, ending: map[string]int{}}
}

// Step reads the cluster once, decides and applies the decision. A write that conflicts is left to the next
// step; other errors are joined and returned after everything has been tried.
func (s *Scheduler) Step(ctx context.Context) (Decision, error) {
	o, err := s.gather(ctx)
	if err != nil {
		return Decision{}, err
	}
	d := Decide(o.Snapshot, s.config.Behavior)
	err = s.apply(ctx, o, d)
	if s.config.Kubelet {
		err = errors.Join(err, s.kubelet(ctx, o))
	}
	return d, err
}
