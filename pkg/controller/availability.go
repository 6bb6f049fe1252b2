package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// discoveryPeriod is how often the cluster is asked for kinds that it did not serve.
const discoveryPeriod = 10 * time.Second

// discoverer is what availability needs of a discovery client.
type discoverer interface {
	ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error)
}

// availability knows which of the operator's schedulers the cluster serves, and which jobs wait for one that it does
// not. It asks discovery and not the RESTMapper, which remembers.
type availability struct {
	discovery        discoverer
	clock            clock.WithTicker
	backends         []scheduler.Backend
	defaultScheduler string
	// watch starts the informer of a kind that is served and returns when it has delivered what exists.
	watch func(context.Context, schema.GroupVersionKind) error
	// wake enqueues jobs.
	wake func(context.Context, []types.NamespacedName)
	// follow one of the kinds that the reasons of a scheduler are about, which the cluster serves.
	follow func(scheduler.Explainer, schema.GroupVersionKind)

	mu sync.Mutex
	// served kinds: discovered and watched.
	served  map[schema.GroupVersionKind]bool
	waiting map[types.NamespacedName]bool
	// followed kinds.
	followed map[schema.GroupVersionKind]bool
}

// choose picks the scheduler of a job, or says why there is none.
func (a *availability) choose(job *v1alpha1.TrainingJob) (scheduler.Backend, *v1alpha1.Blocker) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var available, kinds []string
	for _, b := range a.backends {
		missing := a.missing(b)
		if len(missing) == 0 {
			available = append(available, b.Name())
		}
		kinds = append(kinds, missing...)
	}
	name := trainingjob.ChooseScheduler(job, a.defaultScheduler, available)
	i := slices.IndexFunc(a.backends, func(b scheduler.Backend) bool { return b.Name() == name })
	key := types.NamespacedName{Namespace: job.Namespace, Name: job.Name}
	switch {
	case name == "":
		a.waiting[key] = true
		return nil, noScheduler(kinds)
	case i < 0:
		return nil, unknownScheduler(name, a.backends)
	}
	if missing := a.missing(a.backends[i]); len(missing) > 0 {
		a.waiting[key] = true
		return nil, notServed(name, missing)
	}
	delete(a.waiting, key)
	return a.backends[i], nil
}

// missing kinds of a backend, as a reader knows them. The caller holds the lock.
func (a *availability) missing(b scheduler.Backend) []string {
	var names []string
	for _, gvk := range needed(b) {
		if !a.served[gvk] {
			names = append(names, gvk.GroupVersion().String()+" "+gvk.Kind)
		}
	}
	return names
}

// needed kinds must be served for a backend to be available.
func needed(b scheduler.Backend) []schema.GroupVersionKind {
	return slices.Concat(b.Kinds(), consultedBy(b))
}

func noScheduler(kinds []string) *v1alpha1.Blocker {
	return &v1alpha1.Blocker{
		Reason:   v1alpha1.ReasonSchedulerMissing,
		Message:  "the cluster has no gang scheduler: it serves none of " + strings.Join(kinds, ", "),
		NextStep: "install Volcano or scheduler-plugins, or turn on Kubernetes' own gang scheduling; the job is queued when it is there",
	}
}

func notServed(name string, kinds []string) *v1alpha1.Blocker {
	return &v1alpha1.Blocker{
		Reason:   v1alpha1.ReasonSchedulerMissing,
		Message:  "the cluster does not serve " + strings.Join(kinds, ", "),
		NextStep: fmt.Sprintf("install scheduler %s, or name another one in spec.runPolicy.schedulingPolicy.scheduler", name),
	}
}

func unknownScheduler(name string, backends []scheduler.Backend) *v1alpha1.Blocker {
	var known []string
	for _, b := range backends {
		known = append(known, b.Name())
	}
	return &v1alpha1.Blocker{
		Reason:   v1alpha1.ReasonSchedulerMissing,
		Message:  fmt.Sprintf("the operator does not know scheduler %s", name),
		NextStep: "name one that it knows: " + strings.Join(known, ", "),
	}
}

// discover asks once for each kind that is not served yet, and starts to watch what has appeared.
func (a *availability) discover(ctx context.Context) error {
	for _, b := range a.backends {
		for _, gvk := range needed(b) {
			if a.has(gvk) {
				continue
			}
			served, err := a.serves(gvk)
			if err != nil {
				return err
			}
			if !served {
				continue
			}
			if err := a.watch(ctx, gvk); err != nil {
				return fmt.Errorf("watching %s: %w", gvk, err)
			}
			a.appeared(ctx, gvk)
		}
		if err := a.followFacts(b); err != nil {
			return err
		}
	}
	return nil
}

// factKinds are those that an Explainer wants to know beside its own, which a cluster need not serve.
func factKinds(b scheduler.Backend) []schema.GroupVersionKind {
	if e, ok := b.(scheduler.Explainer); ok {
		return e.StateKinds()
	}
	return nil
}

// followFacts of a scheduler that is served.
func (a *availability) followFacts(b scheduler.Backend) error {
	e, ok := b.(scheduler.Explainer)
	if !ok || a.follow == nil || !a.serving(b) {
		return nil
	}
	for _, gvk := range e.StateKinds() {
		if a.follows(gvk) {
			continue
		}
		served, err := a.serves(gvk)
		if err != nil {
			return err
		}
		if served {
			a.follow(e, gvk)
			a.mu.Lock()
			a.followed[gvk] = true
			a.mu.Unlock()
		}
	}
	return nil
}

func (a *availability) follows(gvk schema.GroupVersionKind) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.followed[gvk]
}

func (a *availability) has(gvk schema.GroupVersionKind) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.served[gvk]
}

func (a *availability) serving(b scheduler.Backend) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.missing(b)) == 0
}

func (a *availability) serves(gvk schema.GroupVersionKind) (bool, error) {
	list, err := a.discovery.ServerResourcesForGroupVersion(gvk.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("asking the API server for %s: %w", gvk.GroupVersion(), err)
	}
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Kind == gvk.Kind }), nil
}

// appeared notes a kind and wakes every job that waits for one. Jobs note their waiting under the same lock, so none
// falls between.
func (a *availability) appeared(ctx context.Context, gvk schema.GroupVersionKind) {
	a.mu.Lock()
	a.served[gvk] = true
	jobs := slices.Collect(maps.Keys(a.waiting))
	a.waiting = map[types.NamespacedName]bool{}
	a.mu.Unlock()
	if len(jobs) > 0 {
		a.wake(ctx, jobs)
	}
}

// forget a job that is gone.
func (a *availability) forget(job types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, job)
}

func (a *availability) complete() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !slices.ContainsFunc(a.backends, func(b scheduler.Backend) bool {
		return len(a.missing(b)) > 0 || a.follow != nil && slices.ContainsFunc(factKinds(b), func(gvk schema.GroupVersionKind) bool { return !a.followed[gvk] })
	})
}

// Start implements manager.Runnable: it asks until everything is served, then it is done.
func (a *availability) Start(ctx context.Context) error {
	ticker := a.clock.NewTicker(discoveryPeriod)
	defer ticker.Stop()
	for !a.complete() {
		if err := a.discover(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "Looking for schedulers; it is tried again")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
	return nil
}
