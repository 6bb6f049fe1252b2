package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/config"
	"mlplatform.example.com/trainingjob-operator/pkg/controller"
	"mlplatform.example.com/trainingjob-operator/pkg/reporting"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
)

const (
	leaseName = "trainingjob-operator"
	// defaultNamespace of the lease where the operator does not run in a pod.
	defaultNamespace = "trainingjob-system"
	namespaceFile    = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
)

// newManager puts the operator together.
func newManager(ctx context.Context, base *rest.Config, cfg config.OperatorConfiguration) (manager.Manager, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(restConfig(base), ctrl.Options{
		Scheme:                        scheme,
		Cache:                         controller.CacheOptions(),
		LeaderElection:                cfg.LeaderElection.Enabled,
		LeaderElectionID:              leaseName,
		LeaderElectionNamespace:       leaseNamespace(cfg),
		LeaderElectionReleaseOnCancel: true, // main ends the process right after
		HealthProbeBindAddress:        cfg.Health.BindAddress,
		Metrics:                       metricsOptions(cfg.Metrics),
	})
	if meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("the cluster does not know TrainingJobs, install deploy/crd first: %w", err)
	} else if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("adding the health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("caches", cachesSynced(mgr.GetCache())); err != nil {
		return nil, fmt.Errorf("adding the readiness check: %w", err)
	}
	reports, err := reporting.Add(mgr, cfg.Agent, cfg.Reports, metrics.Registry)
	if err != nil {
		return nil, err
	}
	return mgr, controller.SetupWithManager(ctx, mgr, controller.Options{
		Backends:         backends(cfg.Schedulers),
		DefaultScheduler: cfg.DefaultScheduler,
		Workers:          cfg.Workers,
		Agent:            reports.Agent,
		Reports:          reports.Reports,
	})
}

// restConfig has no limit on the client's side: the API server's own flow control is fairer, and a gang of hundreds of
// ranks must not be created at 20 a second. Without a content type controller-runtime speaks protobuf for the builtin kinds.
func restConfig(base *rest.Config) *rest.Config {
	c := rest.CopyConfig(base)
	c.QPS, c.Burst, c.RateLimiter = -1, 0, nil
	c.UserAgent = "operator/" + version
	return c
}

// newScheme knows every kind that the operator reads or writes.
func newScheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	err := errors.Join(clientgoscheme.AddToScheme(s), v1alpha1.AddToScheme(s), schedulingv1beta1.AddToScheme(s), coscheduling.AddToScheme(s), kueue.AddToScheme(s))
	if err != nil {
		return nil, fmt.Errorf("registering types: %w", err)
	}
	return s, nil
}

// backends in the order of preference: what a job gets that names none, where the cluster serves several. Volcano, where it
// is installed, was installed for gangs; Kubernetes' own scheduler preempts gangs whole, scheduler-plugins does not.
func backends(c config.Schedulers) []scheduler.Backend {
	return []scheduler.Backend{
		volcano.New(volcano.Options{WaitForInqueue: c.Volcano.WaitForInqueue, SchedulerName: c.Volcano.SchedulerName}),
		kueue.New(kueue.Options{Binder: binder(c)}),
		native.New(native.Options{SchedulerName: c.Native.SchedulerName}),
		coscheduling.New(coscheduling.Options{SchedulerName: c.Coscheduling.SchedulerName}),
	}
}

// binder of the pods that Kueue lets in; nil is the cluster's default scheduler.
func binder(c config.Schedulers) scheduler.Backend {
	switch c.Kueue.Binder {
	case config.BinderNative:
		return native.New(native.Options{SchedulerName: c.Native.SchedulerName})
	case config.BinderCoscheduling:
		return coscheduling.New(coscheduling.Options{SchedulerName: c.Coscheduling.SchedulerName})
	}
	return nil
}

func metricsOptions(c config.Metrics) metricsserver.Options {
	o := metricsserver.Options{BindAddress: c.BindAddress, SecureServing: c.Secure}
	if c.Secure {
		o.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	return o
}

// cachesSynced makes the operator ready when it sees what exists, as a leader or not.
func cachesSynced(c cache.Cache) healthz.Checker {
	return func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), time.Second)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			return errors.New("the caches are not synced")
		}
		return nil
	}
}

// leaseNamespace is the configured one, else the pod's own, else the default.
func leaseNamespace(c config.OperatorConfiguration) string {
	if c.LeaderElection.Namespace != "" {
		return c.LeaderElection.Namespace
	}
	if data, err := os.ReadFile(namespaceFile); err == nil {
		if ns := strings.TrimSpace(string(data)); ns != "" {
			return ns
		}
	}
	return defaultNamespace
}
