package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Options of the controller. The zero value of a field means its default.
type Options struct {
	// Backends that the operator speaks, in the order of preference. Kinds that the manager's scheme has no type for are
	// read and written unstructured.
	Backends []scheduler.Backend
	// DefaultScheduler for jobs that name none; empty: the first that the cluster serves.
	DefaultScheduler string
	// Workers is how many jobs are reconciled at once, default 10.
	Workers int
	// Parallel bounds the creates, and the deletes, of one pass; default 16.
	Parallel int
	// Agent beside the trainers of jobs with checkpoints, asked whenever a pod is made: its server's CA rotates. Without one such
	// jobs wait, and say so.
	Agent func() trainingjob.Agent
	// Reports of rank 0; nil: nobody listens.
	Reports Reports
	// Client that every read and write goes through; default: the manager's. Tests count and fail its writes.
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

// watches connects informers with the ledger and the queue.
type watches struct {
	mgr        manager.Manager
	controller controller.Controller
	ledger     *ledger
	enqueue    handler.EventHandler
	// consultations is nil where no dialect consults anything; consulted are their kinds.
	consultations *consultations
	consulted     []schema.GroupVersionKind
	// woken carries jobs to enqueue that no object's event tells of.
	woken chan event.GenericEvent
}

// SetupWithManager adds the TrainingJob controller to a manager, whose caches must have been made with CacheOptions.
// It asks the API server which schedulers' kinds exist.
func SetupWithManager(ctx context.Context, mgr manager.Manager, o Options) error {
	_, err := setup(ctx, mgr, o.withDefaults(mgr))
	return err
}

func setup(ctx context.Context, mgr manager.Manager, o Options) (*Reconciler, error) {
	metrics, err := newMetrics(o.Registry)
	if err != nil {
		return nil, err
	}
	asked, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("making a discovery client: %w", err)
	}
	r := &Reconciler{
		client: o.Client, uncached: mgr.GetAPIReader(), recorder: mgr.GetEventRecorder(v1alpha1.OperatorName),
		clock: o.Clock, ledger: newLedger(o.Clock), metrics: metrics, parallel: o.Parallel,
		agent: o.Agent, reports: o.Reports,
		jitter: func(d time.Duration) time.Duration { return wait.Jitter(d, 0.3) },
	}
	c, err := controller.New("trainingjob", mgr, controller.Options{
		Reconciler:              r,
		MaxConcurrentReconciles: o.Workers,
		SkipNameValidation:      new(true), // a process may start a second manager after the first has ended
		EnableWarmup:            new(true), // a standby's ledger is warm when it is elected
		// An API server that was away for long is found again within half a minute (the default is a quarter of an hour).
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](50*time.Millisecond, 30*time.Second),
	})
	if err != nil {
		return nil, fmt.Errorf("making the controller: %w", err)
	}
	w := &watches{
		mgr: mgr, controller: c, ledger: r.ledger, woken: make(chan event.GenericEvent),
		enqueue: handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &v1alpha1.TrainingJob{}, handler.OnlyControllerOwner()),
	}
	if w.consulted = consulted(o.Backends); len(w.consulted) > 0 {
		if w.consultations, err = newConsultations(mgr); err != nil {
			return nil, err
		}
		w.consultations.everyone = r.ledger.everyone
		r.consultations = w.consultations
	}
	if o.Reports != nil {
		if err := c.Watch(o.Reports); err != nil {
			return nil, fmt.Errorf("watching reports: %w", err)
		}
	}
	if err := w.start(); err != nil {
		return nil, err
	}
	if r.facts, err = newFacts(mgr, w.wake); err != nil {
		return nil, err
	}
	r.availability = &availability{
		discovery: asked, clock: o.Clock, backends: o.Backends, defaultScheduler: o.DefaultScheduler, wake: w.wake, follow: r.facts.sources.Follow,
		watch:  func(_ context.Context, gvk schema.GroupVersionKind) error { return w.add(gvk) },
		served: map[schema.GroupVersionKind]bool{}, waiting: map[types.NamespacedName]bool{}, followed: map[schema.GroupVersionKind]bool{},
	}
	// The first look happens before any pass: else every queued job would be said to have no scheduler for a moment.
	if err := r.availability.discover(ctx); err != nil {
		return nil, err
	}
	r.availability.watch = w.addAndSync
	return r, errors.Join(mgr.Add(r.availability), mgr.Add(r.facts))
}

// start watches what is always there.
func (w *watches) start() error {
	return errors.Join(
		w.controller.Watch(source.Kind[client.Object](w.mgr.GetCache(), &v1alpha1.TrainingJob{}, &handler.EnqueueRequestForObject{})),
		w.controller.Watch(source.Kind(w.mgr.GetCache(), &corev1.Node{}, nodeHandler{ledger: w.ledger})),
		w.controller.Watch(source.Channel(w.woken, &handler.EnqueueRequestForObject{})),
		w.add(podKind),
		w.add(serviceKind),
	)
}

// source of a kind that jobs own.
func (w *watches) source(gvk schema.GroupVersionKind) (*startedSource, error) {
	if slices.Contains(w.consulted, gvk) {
		return w.consultations.source(gvk, w.mgr.GetScheme())
	}
	empty, err := newObject(w.mgr.GetScheme(), gvk)
	if err != nil {
		return nil, err
	}
	feed := &ownedHandler{gvk: gvk, ledger: w.ledger, EventHandler: w.enqueue}
	return &startedSource{
		SyncingSource: source.Kind[client.Object](w.mgr.GetCache(), empty, feed),
		started:       make(chan struct{}),
	}, nil
}

// add watches a kind; before the manager starts.
func (w *watches) add(gvk schema.GroupVersionKind) error {
	src, err := w.source(gvk)
	if err != nil {
		return err
	}
	return w.controller.Watch(src)
}

// addAndSync watches a kind that has appeared, and returns when the ledger has what exists of it.
func (w *watches) addAndSync(ctx context.Context, gvk schema.GroupVersionKind) error {
	src, err := w.source(gvk)
	if err != nil {
		return err
	}
	if err := w.controller.Watch(src); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // without the right to list, it would never be
	defer cancel()
	return src.WaitForSync(ctx)
}

// wake enqueues jobs.
func (w *watches) wake(ctx context.Context, jobs []types.NamespacedName) {
	for _, name := range jobs {
		job := &v1alpha1.TrainingJob{}
		job.Namespace, job.Name = name.Namespace, name.Name
		select {
		case w.woken <- event.GenericEvent{Object: job}:
		case <-ctx.Done():
			return
		}
	}
}
