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
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"mlplatform.example.com/trainingjob-operator/pkg/config"
	"mlplatform.example.com/trainingjob-operator/pkg/controller"
	"mlplatform.example.com/trainingjob-operator/pkg/reportserver"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

const (
	leaseName = "trainingjob-operator"
	// defaultNamespace of the lease when the operator runs outside a pod.
	defaultNamespace = "trainingjob-system"
	namespaceFile    = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
)

// newManager makes the manager and adds the probes, the report server and the controller to it.
func newManager(
	ctx context.Context, rest *rest.Config, cfg config.OperatorConfiguration, backends []scheduler.Backend,
) (manager.Manager, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(rest, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         controller.CacheOptions(),
		LeaderElection:                cfg.LeaderElection.Enabled,
		LeaderElectionID:              leaseName,
		LeaderElectionNamespace:       leaseNamespace(cfg.LeaderElection),
		LeaderElectionReleaseOnCancel: true, // safe, because run returns right after the manager has stopped
		HealthProbeBindAddress:        cfg.Health.BindAddress,
		Metrics:                       metricsOptions(cfg.Metrics),
	})
	if meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("the cluster does not know TrainingJobs, install deploy/crd first: %w", err)
	} else if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	if err := addProbes(mgr); err != nil {
		return nil, err
	}
	options := controller.Options{
		Backends:         backends,
		DefaultScheduler: cfg.SchedulerOfUnnamed(),
		Workers:          cfg.Workers,
		Agent:            func() render.Agent { return render.Agent{Image: cfg.Agent.Image} },
	}
	if cfg.Reports.On() {
		server, err := newReportServer(mgr, cfg.Reports)
		if err != nil {
			return nil, err
		}
		options.Agent = func() render.Agent { return server.Agent(cfg.Agent.Image) }
		options.Reports = server.Store
	}
	return mgr, controller.SetupWithManager(ctx, mgr, options)
}

func newReportServer(mgr manager.Manager, cfg config.Reports) (*reportserver.Server, error) {
	return reportserver.SetupWithManager(mgr, reportserver.Options{
		BindAddress: cfg.BindAddress, URL: cfg.URL, CertificateDir: cfg.CertificateDir, Audience: cfg.Audience,
		Registry: metrics.Registry, Log: ctrl.Log.WithName("reports"),
	})
}

func addProbes(mgr manager.Manager) error {
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("adding the health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("caches", cachesSynced(mgr.GetCache())); err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	return nil
}

// cachesSynced succeeds once the caches are filled, whether this replica leads or not.
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

func metricsOptions(c config.Metrics) metricsserver.Options {
	o := metricsserver.Options{BindAddress: c.BindAddress, SecureServing: c.Secure}
	if c.Secure {
		o.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	return o
}

// leaseNamespace is the configured namespace, else the pod's own, else the default.
func leaseNamespace(c config.LeaderElection) string {
	if c.Namespace != "" {
		return c.Namespace
	}
	if data, err := os.ReadFile(namespaceFile); err == nil {
		if ns := strings.TrimSpace(string(data)); ns != "" {
			return ns
		}
	}
	return defaultNamespace
}
