package backends

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
	"mlplatform.example.com/trainingjob-operator/pkg/clusterstate"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/pkg/turn"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// discoveryPeriod is how often Availability looks for the kinds that the cluster does not serve yet.
const discoveryPeriod = 10 * time.Second

// discoverer is what availability needs of a discovery client.
type discoverer interface {
	ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error)
}

// Availability finds out which of the operator's schedulers the cluster serves, and holds the jobs that wait
// for one that it does not. It uses discovery and not the RESTMapper, which caches.
type Availability struct {
	discovery        discoverer
	clock            clock.WithTicker
	Backends         []scheduler.Backend
	defaultScheduler string
	// Allowed schedulers; empty: all.
	Allowed []string
	// Watch starts the informer of a kind that is served, and returns when it has delivered what exists.
	Watch func(context.Context, schema.GroupVersionKind) error
	Wake  memory.Waker
	// Follow starts to feed a state kind of an Explainer into the cluster state.
	Follow func(scheduler.Explainer, schema.GroupVersionKind) error
	// FollowDevices does so for one of clusterstate.DeviceKinds, whatever the schedulers are; nil: for none.
	FollowDevices func(schema.GroupVersionKind) error

	mu sync.Mutex
	// served kinds: discovered and watched.
	served map[schema.GroupVersionKind]bool
	// followed state kinds and device kinds.
	followed map[schema.GroupVersionKind]bool
	// waiting are the jobs whose scheduler is not served.
	waiting map[types.NamespacedName]bool
}

// NewAvailability returns an Availability that has not discovered any kind yet.
func NewAvailability(
	d discoverer, c clock.WithTicker, backends []scheduler.Backend, defaultScheduler string,
) *Availability {
	return &Availability{
		discovery: d, clock: c, Backends: backends, defaultScheduler: defaultScheduler,
		served: map[schema.GroupVersionKind]bool{}, followed: map[schema.GroupVersionKind]bool{},
		waiting: map[types.NamespacedName]bool{},
	}
}

// Choose returns the scheduler of a job, or the blocker that explains why there is none. A job that another
// controller runs has the scheduler that dispatches it; without one, the operator leaves the job alone.
func (a *Availability) Choose(job *v1alpha1.TrainingJob) (scheduler.Backend, *v1alpha1.Blocker) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var available, absent []string
	for _, b := range a.Backends {
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
	i := slices.IndexFunc(a.Backends, func(b scheduler.Backend) bool { return b.Name() == name })
	key := types.NamespacedName{Namespace: job.Namespace, Name: job.Name}
	switch {
	case name == "":
		a.waiting[key] = true
		return nil, noScheduler(absent)
	case !a.allows(name) && spec.RecordedScheduler(job) == "":
		return nil, notAllowed(name, a.Allowed)
	case i < 0:
		return nil, unknownScheduler(name, a.Backends)
	}
	if missing := a.missing(a.Backends[i]); len(missing) > 0 {
		a.waiting[key] = true
		return nil, notServed(a.Backends[i], missing)
	}
	delete(a.waiting, key)
	return a.Backends[i], nil
}

// allows reports whether the configuration lets jobs have a scheduler.
func (a *Availability) allows(name string) bool {
	return len(a.Allowed) == 0 || slices.Contains(a.Allowed, name)
}

// dispatcher names the backend whose scheduler runs the jobs with this spec.managedBy in other clusters; ""
// for none.
func (a *Availability) dispatcher(managedBy string) string {
	for _, b := range a.Backends {
		if by := scheduler.Of(b).ManagedBy; by != "" && by == managedBy {
			return b.Name()
		}
	}
	return ""
}

// missing returns the required kinds of a backend that are not served, for a message. The caller
// holds the lock.
func (a *Availability) missing(b scheduler.Backend) []string {
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
	return slices.Concat(b.Kinds(), scheduler.Of(b).ClusterKinds)
}

// ClusterKinds returns the cluster-scoped kinds that a backend reads for a gang: those that it requires and,
// for a gang that must lie within one domain, those of the topology that the cluster serves.
func (a *Availability) ClusterKinds(b scheduler.Backend, within bool) []schema.GroupVersionKind {
	c := scheduler.Of(b)
	kinds := slices.Clone(c.ClusterKinds)
	for _, gvk := range c.TopologyKinds {
		if within && a.isServed(gvk) {
			kinds = append(kinds, gvk)
		}
	}
	return kinds
}

// stateKinds returns the additional kinds that an Explainer reads; a cluster need not serve them.
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

// Forget drops a deleted job.
func (a *Availability) Forget(job types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, job)
}

// Start implements manager.Runnable: it looks for schedulers until every kind is served.
func (a *Availability) Start(ctx context.Context) error {
	ticker := a.clock.NewTicker(discoveryPeriod)
	defer ticker.Stop()
	for !a.complete() {
		if err := a.Discover(ctx); err != nil && ctx.Err() == nil {
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

// Discover looks once for each kind that is not served yet, and watches those that have appeared.
func (a *Availability) Discover(ctx context.Context) error {
	for _, b := range a.Backends {
		for _, gvk := range slices.Concat(requiredKinds(b), scheduler.Of(b).TopologyKinds) {
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
			if err := a.Watch(ctx, gvk); err != nil {
				return fmt.Errorf("watching %s: %w", gvk, err)
			}
			a.MarkServed(ctx, gvk)
		}
		if err := a.followStateKinds(b); err != nil {
			return err
		}
	}
	if a.FollowDevices == nil {
		return nil
	}
	for _, gvk := range clusterstate.DeviceKinds {
		if err := a.followServed(gvk, a.FollowDevices); err != nil {
			return err
		}
	}
	return nil
}

// followStateKinds follows the state kinds that are served, of a backend that is available.
func (a *Availability) followStateKinds(b scheduler.Backend) error {
	e := scheduler.Of(b).Explainer
	if e == nil || a.Follow == nil || !a.isAvailable(b) {
		return nil
	}
	for _, gvk := range e.StateKinds() {
		err := a.followServed(gvk, func(gvk schema.GroupVersionKind) error { return a.Follow(e, gvk) })
		if err != nil {
			return err
		}
	}
	return nil
}

// followServed follows a kind once, as soon as the cluster serves it.
func (a *Availability) followServed(
	gvk schema.GroupVersionKind, follow func(schema.GroupVersionKind) error,
) error {
	if a.isFollowed(gvk) {
		return nil
	}
	served, err := a.askServed(gvk)
	if err != nil || !served {
		return err
	}
	if err := follow(gvk); err != nil {
		return fmt.Errorf("following %s: %w", gvk, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.followed[gvk] = true
	return nil
}

// askServed requests from the API server whether it serves a kind.
func (a *Availability) askServed(gvk schema.GroupVersionKind) (bool, error) {
	list, err := a.discovery.ServerResourcesForGroupVersion(gvk.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("discovering %s: %w", gvk.GroupVersion(), err)
	}
	return slices.ContainsFunc(list.APIResources,
		func(r metav1.APIResource) bool { return r.Kind == gvk.Kind }), nil
}

// MarkServed records a kind and wakes every job that waits for one. Jobs record their waiting under the same
// lock, so none is missed.
func (a *Availability) MarkServed(ctx context.Context, gvk schema.GroupVersionKind) {
	a.mu.Lock()
	a.served[gvk] = true
	jobs := slices.Collect(maps.Keys(a.waiting))
	a.waiting = map[types.NamespacedName]bool{}
	a.mu.Unlock()
	if len(jobs) > 0 {
		a.Wake.Wake(ctx, jobs, turn.Usual)
	}
}

func (a *Availability) isServed(gvk schema.GroupVersionKind) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.served[gvk]
}

func (a *Availability) isFollowed(gvk schema.GroupVersionKind) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.followed[gvk]
}

// isAvailable reports whether the cluster serves everything that a backend requires.
func (a *Availability) isAvailable(b scheduler.Backend) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.missing(b)) == 0
}

// complete reports whether every kind is served, and every state kind followed.
func (a *Availability) complete() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	unserved := func(gvk schema.GroupVersionKind) bool { return !a.served[gvk] }
	unfollowed := func(gvk schema.GroupVersionKind) bool { return !a.followed[gvk] }
	if a.FollowDevices != nil && slices.ContainsFunc(clusterstate.DeviceKinds, unfollowed) {
		return false
	}
	return !slices.ContainsFunc(a.Backends, func(b scheduler.Backend) bool {
		return len(a.missing(b)) > 0 || slices.ContainsFunc(scheduler.Of(b).TopologyKinds, unserved) ||
			a.Follow != nil && slices.ContainsFunc(stateKinds(b), unfollowed)
	})
}
