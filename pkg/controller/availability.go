package controller

import (
	"cmp"
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
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// discoveryPeriod is how often the cluster is asked for the kinds that it does not serve yet.
const discoveryPeriod = 10 * time.Second

// discoverer is what availability needs of a discovery client.
type discoverer interface {
	ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error)
}

// availability knows which of the operator's schedulers the cluster serves, and which jobs wait for one that
// it does not. It asks discovery and not the RESTMapper, which remembers.
type availability struct {
	discovery        discoverer
	clock            clock.WithTicker
	backends         []scheduler.Backend
	defaultScheduler string
	// allowed schedulers; empty: all.
	allowed []string
	// watch starts the informer of a kind that is served, and returns when it has delivered what exists.
	watch func(context.Context, schema.GroupVersionKind) error
	// wake enqueues jobs.
	wake func(context.Context, []types.NamespacedName)
	// follow starts to feed a state kind of an Explainer into the cluster state.
	follow func(scheduler.Explainer, schema.GroupVersionKind) error

	mu sync.Mutex
	// served kinds: discovered and watched.
	served map[schema.GroupVersionKind]bool
	// followed state kinds.
	followed map[schema.GroupVersionKind]bool
	// waiting are the jobs whose scheduler is not served.
	waiting map[types.NamespacedName]bool
}

func newAvailability(
	d discoverer, c clock.WithTicker, backends []scheduler.Backend, defaultScheduler string,
) *availability {
	return &availability{
		discovery: d, clock: c, backends: backends, defaultScheduler: defaultScheduler,
		served: map[schema.GroupVersionKind]bool{}, followed: map[schema.GroupVersionKind]bool{},
		waiting: map[types.NamespacedName]bool{},
	}
}

// choose returns the scheduler of a job, or says why there is none. A job that somebody else runs has the
// scheduler that dispatches it; with neither, it is not the operator's.
func (a *availability) choose(job *v1alpha1.TrainingJob) (scheduler.Backend, *v1alpha1.Blocker) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var available, absent []string
	for _, b := range a.backends {
		if !a.allows(b.Name()) {
			continue
		}
		missing := a.missing(b)
		if len(missing) == 0 {
			available = append(available, b.Name())
		}
		absent = append(absent, missing...)
	}
	name := spec.ChooseScheduler(job, a.defaultScheduler, available)
	if spec.ManagedElsewhere(job) {
		if name = a.dispatcher(job.Spec.ManagedBy); name == "" {
			return nil, nil
		}
	}
	i := slices.IndexFunc(a.backends, func(b scheduler.Backend) bool { return b.Name() == name })
	key := types.NamespacedName{Namespace: job.Namespace, Name: job.Name}
	switch {
	case name == "":
		a.waiting[key] = true
		return nil, noScheduler(absent)
	case !a.allows(name) && spec.RecordedScheduler(job) == "":
		return nil, notAllowed(name, a.allowed)
	case i < 0:
		return nil, unknownScheduler(name, a.backends)
	}
	if missing := a.missing(a.backends[i]); len(missing) > 0 {
		a.waiting[key] = true
		return nil, notServed(a.backends[i], missing)
	}
	delete(a.waiting, key)
	return a.backends[i], nil
}

// allows reports whether the configuration lets jobs have a scheduler.
func (a *availability) allows(name string) bool {
	return len(a.allowed) == 0 || slices.Contains(a.allowed, name)
}

// dispatcher names the backend whose scheduler runs the jobs with this spec.managedBy in other clusters; ""
// for none.
func (a *availability) dispatcher(managedBy string) string {
	for _, b := range a.backends {
		if by := scheduler.Of(b).ManagedBy; by != "" && by == managedBy {
			return b.Name()
		}
	}
	return ""
}

// missing returns the required kinds of a backend that are not served, as a reader knows them. The caller
// holds the lock.
func (a *availability) missing(b scheduler.Backend) []string {
	var names []string
	for _, gvk := range requiredKinds(b) {
		if !a.served[gvk] {
			names = append(names, gvk.GroupVersion().String()+" "+gvk.Kind)
		}
	}
	return names
}

// requiredKinds must be served for a backend to be available.
func requiredKinds(b scheduler.Backend) []schema.GroupVersionKind {
	return slices.Concat(b.Kinds(), clusterKinds(b))
}

// stateKinds are those that an Explainer wants to see beside its own; a cluster need not serve them.
func stateKinds(b scheduler.Backend) []schema.GroupVersionKind {
	if e := scheduler.Of(b).Explainer; e != nil {
		return e.StateKinds()
	}
	return nil
}

func noScheduler(kinds []string) *v1alpha1.Blocker {
	return &v1alpha1.Blocker{
		Reason:  v1alpha1.ReasonSchedulerMissing,
		Message: "the cluster has no gang scheduler: it serves none of " + strings.Join(kinds, ", "),
		NextStep: "install Volcano or scheduler-plugins, or turn on Kubernetes' own gang scheduling; " +
			"the job is queued when it is there",
	}
}

func notServed(b scheduler.Backend, kinds []string) *v1alpha1.Blocker {
	install := cmp.Or(scheduler.Of(b).Installation, "install scheduler "+b.Name())
	return &v1alpha1.Blocker{
		Reason:   v1alpha1.ReasonSchedulerMissing,
		Message:  "the cluster does not serve " + strings.Join(kinds, ", "),
		NextStep: install + ", or name another one in spec.runPolicy.schedulingPolicy.scheduler",
	}
}

func notAllowed(name string, allowed []string) *v1alpha1.Blocker {
	list := strings.Join(allowed, ", ")
	return &v1alpha1.Blocker{
		Reason:  v1alpha1.ReasonSchedulerNotAllowed,
		Message: fmt.Sprintf("scheduler %s is not allowed in this cluster: the operator allows %s", name, list),
		NextStep: "remove spec.runPolicy.schedulingPolicy.scheduler, or name one of those; " +
			"the admin sets them as schedulers.allowed",
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

// forget drops a job that is gone.
func (a *availability) forget(job types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, job)
}

// Start implements manager.Runnable: it looks for schedulers until every kind is served.
func (a *availability) Start(ctx context.Context) error {
	ticker := a.clock.NewTicker(discoveryPeriod)
	defer ticker.Stop()
	for !a.complete() {
		if err := a.discover(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "Cannot look for schedulers; will retry")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
	return nil
}

// discover asks once for each kind that is not served yet, and starts to watch what has appeared.
func (a *availability) discover(ctx context.Context) error {
	for _, b := range a.backends {
		for _, gvk := range requiredKinds(b) {
			if a.isServed(gvk) {
				continue
			}
			served, err := a.askServed(gvk)
			if err != nil {
				return err
			}
			if !served {
				continue
			}
			if err := a.watch(ctx, gvk); err != nil {
				return fmt.Errorf("watching %s: %w", gvk, err)
			}
			a.markServed(ctx, gvk)
		}
		if err := a.followStateKinds(b); err != nil {
			return err
		}
	}
	return nil
}

// followStateKinds follows the state kinds that are served, of a backend that is available.
func (a *availability) followStateKinds(b scheduler.Backend) error {
	e := scheduler.Of(b).Explainer
	if e == nil || a.follow == nil || !a.isAvailable(b) {
		return nil
	}
	for _, gvk := range e.StateKinds() {
		if a.isFollowed(gvk) {
			continue
		}
		served, err := a.askServed(gvk)
		if err != nil {
			return err
		}
		if served {
			if err := a.follow(e, gvk); err != nil {
				return fmt.Errorf("following %s: %w", gvk, err)
			}
			a.mu.Lock()
			a.followed[gvk] = true
			a.mu.Unlock()
		}
	}
	return nil
}

// askServed asks the API server whether it serves a kind.
func (a *availability) askServed(gvk schema.GroupVersionKind) (bool, error) {
	list, err := a.discovery.ServerResourcesForGroupVersion(gvk.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("asking the API server for %s: %w", gvk.GroupVersion(), err)
	}
	return slices.ContainsFunc(list.APIResources,
		func(r metav1.APIResource) bool { return r.Kind == gvk.Kind }), nil
}

// markServed records a kind and wakes every job that waits for one. Jobs record their waiting under the same
// lock, so none is missed.
func (a *availability) markServed(ctx context.Context, gvk schema.GroupVersionKind) {
	a.mu.Lock()
	a.served[gvk] = true
	jobs := slices.Collect(maps.Keys(a.waiting))
	a.waiting = map[types.NamespacedName]bool{}
	a.mu.Unlock()
	if len(jobs) > 0 {
		a.wake(ctx, jobs)
	}
}

func (a *availability) isServed(gvk schema.GroupVersionKind) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.served[gvk]
}

func (a *availability) isFollowed(gvk schema.GroupVersionKind) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.followed[gvk]
}

// isAvailable reports whether the cluster serves everything that a backend requires.
func (a *availability) isAvailable(b scheduler.Backend) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.missing(b)) == 0
}

// complete reports whether every kind is served, and every state kind followed.
func (a *availability) complete() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	unfollowed := func(gvk schema.GroupVersionKind) bool { return !a.followed[gvk] }
	return !slices.ContainsFunc(a.backends, func(b scheduler.Backend) bool {
		return len(a.missing(b)) > 0 || a.follow != nil && slices.ContainsFunc(stateKinds(b), unfollowed)
	})
}
