package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/backends"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/forecaster"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/meter"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/planner"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/write"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Options of the controller. The zero value of a field means its default.
type Options struct {
	// Backends of the schedulers that the operator supports, in the order of preference. Kinds that the
	// manager's scheme has no type for are read and written unstructured.
	Backends []scheduler.Backend
	// DefaultScheduler for jobs that name none; empty: the first that the cluster serves.
	DefaultScheduler string
	// AllowedSchedulers are the only ones that a job can have; empty: all.
	AllowedSchedulers []string
	// Namespaces are the only ones whose jobs are run, as CacheOptions was given them; none: all.
	Namespaces []string
	// NameOtherNamespaces lets a job's blocker name jobs of other namespaces, which hold what it waits for.
	NameOtherNamespaces bool
	// Workers is how many jobs are reconciled at once, default 10.
	Workers int
	// Parallel bounds the creates, and the deletes, of one reconcile; default 16.
	Parallel int
	// NodeAutoscaler says whether pending pods can trigger new nodes; by default the operator finds out.
	NodeAutoscaler backends.NodeAutoscaler
	// GPUs are the names and patterns of resources that count as GPUs; none: the default ones.
	GPUs []string
	// GPUDeviceClasses are the device classes whose devices count as GPUs; none: no devices count.
	GPUDeviceClasses []string
	// GPUTolerations are added to the ranks that request GPUs, from their job's next attempt on.
	GPUTolerations []corev1.Toleration
	// MLflowTrackingURI that ranks get, from their job's next attempt on; empty: none.
	MLflowTrackingURI string
	// Agent returns the agent that runs beside the trainers of jobs with checkpoints. It is called whenever a
	// pod is rendered, since the CA of the agent's server rotates. Without one such jobs wait.
	Agent func() render.Agent
	// Lifecycle bounds how long gangs hold what they do not use; nil: observation.DefaultLifecycle.
	Lifecycle *observation.Lifecycle
	// Forecasting estimates when jobs start and end; nil: it does not. Steps are what trainers have reported.
	Forecasting *forecaster.Options
	Steps       forecaster.Steps
	// Planning of preemptions, which the statuses of gangs that do not fit show; nil: none.
	Planning *planner.Options
	// Reports of rank 0; nil: no server receives reports.
	Reports Reports
	// Beats of the ranks; nil: no server receives them.
	Beats Beats
	// Client for every read and write but uncached reads; default: the manager's. Tests count and fail its
	// writes.
	Client client.Client
	// Clock, default the real one.
	Clock clock.WithTicker
	// Registry of the metrics, default controller-runtime's.
	Registry prometheus.Registerer
}

func (o Options) withDefaults(mgr manager.Manager) Options {
	if o.Workers <= 0 {
		o.Workers = 10
	}
	if o.Parallel <= 0 {
		o.Parallel = 16
	}
	if o.Client == nil {
		o.Client = mgr.GetClient()
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Registry == nil {
		o.Registry = ctrlmetrics.Registry
	}
	return o
}

func (o Options) lifecycle() observation.Lifecycle {
	if o.Lifecycle == nil {
		return observation.DefaultLifecycle()
	}
	return *o.Lifecycle
}

// SetupWithManager adds the TrainingJob controller to a manager, whose caches must have been made with
// CacheOptions. It asks the API server which schedulers' kinds exist.
func SetupWithManager(ctx context.Context, mgr manager.Manager, o Options) error {
	_, err := setup(ctx, mgr, o.withDefaults(mgr))
	return err
}

func setup(ctx context.Context, mgr manager.Manager, o Options) (*Reconciler, error) {
	d, err := newDependencies(mgr, o)
	if err != nil {
		return nil, err
	}
	r := newReconciler(d, o)
	c, err := newController(mgr, r, o.Workers)
	if err != nil {
		return nil, err
	}
	w := &watches{
		mgr: mgr, controller: c, owned: r.owned,
		clusterObjects: d.clusterObjects, clusterKinds: backends.ClusterKinds(o.Backends...),
	}
	if err := w.start(d.woken); err != nil {
		return nil, err
	}
	if o.Reports != nil {
		if err := c.Watch(o.Reports); err != nil {
			return nil, fmt.Errorf("watching reports: %w", err)
		}
	}
	// The first discovery precedes any reconcile: otherwise every queued job would show for a moment that it has
	// no scheduler.
	d.availability.Watch = func(_ context.Context, gvk schema.GroupVersionKind) error { return w.add(gvk) }
	if err := d.availability.Discover(ctx); err != nil {
		return nil, err
	}
	d.availability.Watch = w.addAndSync
	if p := r.gatherer.planner; p != nil {
		if err := mgr.Add(p); err != nil {
			return nil, fmt.Errorf("adding the planner: %w", err)
		}
	}
	if f := r.gatherer.forecaster; f != nil {
		if err := mgr.Add(f); err != nil {
			return nil, fmt.Errorf("adding the forecaster: %w", err)
		}
	}
	d.autoscaler.Detect(ctx) // before any reconcile, which would create pods for nothing
	return r, errors.Join(mgr.Add(d.availability), mgr.Add(d.clusterState), mgr.Add(d.autoscaler),
		d.counts.Follow(mgr))
}

// dependencies of the Reconciler that need a manager, or a substitute in tests.
type dependencies struct {
	uncached       client.Reader
	recorder       events.EventRecorder
	metrics        *meter.Metrics
	states         *memory.JobStates
	counts         *meter.JobCounts
	availability   *backends.Availability
	autoscaler     *backends.Autoscaler
	clusterState   *backends.ClusterState
	clusterObjects *backends.ClusterObjects
	woken          waker
	jitter         func(time.Duration) time.Duration
}

func newDependencies(mgr manager.Manager, o Options) (dependencies, error) {
	d := dependencies{
		uncached: mgr.GetAPIReader(),
		recorder: mgr.GetEventRecorder(v1alpha1.OperatorName),
		states:   memory.NewJobStates(),
		counts:   &meter.JobCounts{},
		woken:    make(waker),
		jitter:   func(d time.Duration) time.Duration { return wait.Jitter(d, 0.3) },
	}
	var err error
	if d.metrics, err = meter.New(o.Registry); err != nil {
		return d, err
	}
	if d.clusterState, err = backends.NewClusterState(mgr, o.Namespaces, d.woken); err != nil {
		return d, err
	}
	if len(backends.ClusterKinds(o.Backends...)) > 0 {
		if d.clusterObjects, err = backends.NewClusterObjects(mgr, d.states.Tracked); err != nil {
			return d, err
		}
	}
	disco, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return d, fmt.Errorf("making a discovery client: %w", err)
	}
	d.autoscaler = backends.NewAutoscaler(o.NodeAutoscaler, disco, d.uncached, o.Clock)
	d.availability = backends.NewAvailability(disco, o.Clock, o.Backends, o.DefaultScheduler)
	d.availability.Allowed = o.AllowedSchedulers
	d.availability.Wake = d.woken
	d.availability.Follow = d.clusterState.Follow
	d.availability.FollowDevices = d.clusterState.FollowDevices
	return d, nil
}

func newReconciler(d dependencies, o Options) *Reconciler {
	live := memory.LiveReader{Reader: d.uncached, Scheme: o.Client.Scheme()}
	owned := memory.NewOwnedCache(o.Clock, d.states.ObjectGone)
	reporter := &panicReporter{recorder: d.recorder, states: d.states, metrics: d.metrics}
	return &Reconciler{
		panics: reporter,
		client: o.Client, clock: o.Clock, owned: owned, states: d.states, availability: d.availability,
		reports: o.Reports,
		gatherer: &gatherer{
			client: o.Client, live: live, clock: o.Clock, owned: owned, states: d.states,
			counts: d.counts, availability: d.availability, clusterObjects: d.clusterObjects,
			planner: planner.New(o.Planning, planner.Dependencies{
				Client: o.Client, Live: d.uncached, Clock: o.Clock, State: d.clusterState, Owned: owned,
				Counts: d.counts, Backends: o.Backends, GPUs: o.GPUs, Reports: o.Reports, Waker: d.woken,
				Steps:          o.Steps,
				CountOverruled: d.metrics.CountOverruled, ReportPanic: reporter.report,
			}),
			forecaster: forecaster.New(o.Forecasting, forecaster.Dependencies{
				Client: o.Client, Clock: o.Clock, State: d.clusterState, Owned: owned, Counts: d.counts,
				Backends: o.Backends, Steps: o.Steps, Waker: d.woken, Autoscaler: d.autoscaler,
				ReportPanic: reporter.report,
			}),
			explainer: &explainer{
				state: d.clusterState, states: d.states, live: live, autoscaler: d.autoscaler,
				nameOthers: o.NameOtherNamespaces, since: o.Clock.Now(),
			},
			agent: o.Agent, reports: o.Reports, beats: o.Beats, leadsSince: sync.OnceValue(o.Clock.Now),
			lifecycle: o.lifecycle(), gpus: o.GPUs,
			gpuDeviceClasses: o.GPUDeviceClasses,
			gpuTolerations:   o.GPUTolerations, mlflowTrackingURI: o.MLflowTrackingURI,
		},
		writer: &write.Objects{
			Client: o.Client, Live: live, Clock: o.Clock, Owned: owned, States: d.states,
			Metrics: d.metrics, Parallel: o.Parallel, Jitter: d.jitter,
			Wakes: write.NewWakeLimiter(o.Clock),
		},
		status: &write.Statuses{
			Client: o.Client, Recorder: d.recorder, States: d.states, Metrics: d.metrics, Clock: o.Clock,
		},
		metrics: d.metrics,
	}
}

// firstLists bounds the first lists of all kinds together. After that the operator exits and logs which one
// is missing. controller-runtime's 2 minutes were too short for one of two operators that started together
// with 100,000 jobs, on two processors with a simulated API server.
const firstLists = 15 * time.Minute

func newController(mgr manager.Manager, r *Reconciler, workers int) (controller.Controller, error) {
	c, err := controller.New("trainingjob", mgr, controller.Options{
		Reconciler:              r,
		MaxConcurrentReconciles: workers,
		SkipNameValidation:      new(true), // a process may start a second manager after the first has ended
		EnableWarmup:            new(true), // a standby's owned-object cache is warm when it is elected
		CacheSyncTimeout:        firstLists,
		// An API server that was away for long is found again within half a minute; the default is a quarter of an
		// hour.
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
			50*time.Millisecond, 30*time.Second),
	})
	if err != nil {
		return nil, fmt.Errorf("making the controller: %w", err)
	}
	return c, nil
}
