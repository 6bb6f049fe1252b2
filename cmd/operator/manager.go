package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/config"
	"mlplatform.example.com/trainingjob-operator/pkg/controller"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/backends"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/forecaster"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/planner"
	"mlplatform.example.com/trainingjob-operator/pkg/reportserver"
	"mlplatform.example.com/trainingjob-operator/pkg/reservation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
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
		Cache:                         controller.CacheOptions(cfg.WatchNamespaces...),
		LeaderElection:                cfg.LeaderElection.Enabled,
		LeaderElectionID:              leaseName,
		LeaderElectionNamespace:       leaseNamespace(cfg.LeaderElection),
		LeaderElectionReleaseOnCancel: true,       // safe, because run returns right after the manager has stopped
		HealthProbeBindAddress:        config.Off, // servers.go serves both
		PprofBindAddress:              cfg.Profiles.BindAddress,
		Metrics:                       metricsserver.Options{BindAddress: config.Off},
	})
	if meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("the cluster does not know TrainingJobs, install deploy/crd first: %w", err)
	} else if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	if err := addProbes(mgr, cfg.Health); err != nil {
		return nil, err
	}
	options := controller.Options{
		Backends:          backends,
		DefaultScheduler:  cfg.SchedulerOfUnnamed(),
		AllowedSchedulers: cfg.Schedulers.Allowed,

		Namespaces:          cfg.WatchNamespaces,
		NameOtherNamespaces: cfg.Blockers.NameOtherNamespaces,
		Workers:             cfg.Workers,
		Lifecycle:           lifecycle(cfg.Lifecycle),
		NodeAutoscaler:      nodeAutoscaler(cfg.NodeAutoscaler),
		GPUs:                cfg.GPUs,
		GPUDeviceClasses:    cfg.GPUDeviceClasses,
		GPUTolerations:      cfg.GPUTolerations,
		MLflowTrackingURI:   cfg.MLflow.TrackingURI,
		Planning:            planning(cfg),
		Forecasting:         forecasting(cfg.Forecast),
	}
	var reports *reportserver.Server
	if cfg.Reports.On() {
		if reports, err = newReportServer(mgr, cfg); err != nil {
			return nil, err
		}
		options.Reports, options.Beats, options.Steps = reports.Store, reports.Beats, reports.Store
	}
	options.Agent = agentOf(cfg, reports)
	if err := addMetrics(mgr, cfg, reports); err != nil {
		return nil, err
	}
	return mgr, controller.SetupWithManager(ctx, mgr, options)
}

// agentOf says what runs beside trainers. It reports to the server, where there is one.
func agentOf(c config.OperatorConfiguration, reports *reportserver.Server) func() render.Agent {
	return func() render.Agent {
		agent := render.Agent{Image: c.Agent.Image}
		if reports != nil {
			agent = reports.Agent(c.Agent.Image)
		}
		agent.SearchPriorityClass, agent.Kubeflow = c.Agent.SearchPriorityClass, c.Reports.Kubeflow
		agent.Liveness = v1alpha1.LivenessMode(c.Liveness.Mode)
		agent.MaxLiveness = v1alpha1.LivenessMode(c.Liveness.MaxMode)
		return agent
	}
}

// lifecycle is the configuration as the core takes it.
func lifecycle(c config.Lifecycle) *observation.Lifecycle {
	seconds := func(n int) time.Duration { return time.Duration(n) * time.Second }
	return &observation.Lifecycle{
		KeepPlace:    seconds(c.KeepPlaceSeconds),
		StartTimeout: seconds(c.StartTimeoutSeconds),
		ForceDelete:  seconds(c.ForceDeleteAfterSeconds),
	}
}

// planning returns the controller's options for preemption; nil if preemption is off.
func planning(cfg config.OperatorConfiguration) *planner.Options {
	c := cfg.Preemption
	if c.Mode == config.PreemptionOff {
		return nil
	}
	seconds := func(n int) time.Duration { return time.Duration(n) * time.Second }
	return &planner.Options{
		MinRun:       seconds(c.MinRunSeconds),
		LossCap:      seconds(c.LossCapSeconds),
		UnknownStart: seconds(c.UnknownStartSeconds),
		MaxPlans:     c.MaxPlans,
		MaxDelay:     seconds(c.MaxDelaySeconds),
		Broker:       c.Mode == config.PreemptionBroker,
		MaxRounds:    c.MaxRounds,
		Backfill:     backfill(cfg.Backfill),
	}
}

// backfill returns the policy of reservations; nil if they are off.
func backfill(c config.Backfill) *reservation.Policy {
	if c.Mode == config.BackfillOff {
		return nil
	}
	return &reservation.Policy{
		DryRun: c.Mode == config.BackfillDryRun, MaxReservations: c.MaxReservations,
		MaxSharePercent: c.MaxSharePercent, MaxHold: time.Duration(c.MaxHoldSeconds) * time.Second,
		MaxAge: time.Duration(c.MaxAgeSeconds) * time.Second, MarginPercent: c.MarginPercent,
	}
}

// forecasting returns the controller's options for forecasts; nil if they are off.
func forecasting(c config.Forecast) *forecaster.Options {
	if c.Mode != config.ForecastOn {
		return nil
	}
	return &forecaster.Options{Horizon: time.Duration(c.HorizonSeconds) * time.Second, Considered: c.Considered}
}

func newReportServer(mgr manager.Manager, c config.OperatorConfiguration) (*reportserver.Server, error) {
	cfg := c.Reports
	return reportserver.SetupWithManager(mgr, reportserver.Options{
		BindAddress: cfg.BindAddress, URL: cfg.URL, CertificateDir: cfg.CertificateDir, Audience: cfg.Audience,
		Namespaces: c.WatchNamespaces, Registry: metrics.Registry, Log: ctrl.Log.WithName("reports"),
	})
}

func nodeAutoscaler(configured string) backends.NodeAutoscaler {
	switch configured {
	case config.AutoscalerPresent:
		return backends.NodeAutoscalerPresent
	case config.AutoscalerAbsent:
		return backends.NodeAutoscalerAbsent
	}
	return backends.NodeAutoscalerDetect
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
