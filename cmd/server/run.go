package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board"
	"mlplatform.example.com/trainingjob-operator/pkg/server/config"
	"mlplatform.example.com/trainingjob-operator/pkg/server/live"
	"mlplatform.example.com/trainingjob-operator/pkg/server/mlflow"
	"mlplatform.example.com/trainingjob-operator/pkg/server/namespaces"
	"mlplatform.example.com/trainingjob-operator/pkg/server/placement"
	"mlplatform.example.com/trainingjob-operator/pkg/server/recorder"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

// runnable runs until its context ends; its error ends the process.
type runnable func(context.Context) error

// process is the running server.
type process struct {
	config     config.ServerConfiguration
	store      *store.Store
	clusters   []cluster
	recorders  []*recorder.Recorder
	live       *live.Clusters
	namespaces *namespaces.Clusters
	placement  *placement.Clusters // nil if the board is disabled
	callers    *callers
	board      *board.Board // nil if it is disabled
	registry   *prometheus.Registry
	log        logr.Logger
}

// run runs until the context ends. It then writes what it has observed and closes the database.
func run(ctx context.Context, cfg config.ServerConfiguration) (err error) {
	p := &process{config: cfg, registry: prometheus.NewRegistry(), log: ctrl.Log}
	dsn, err := cfg.Database.DSN()
	if err != nil {
		return err
	}
	if p.store, err = store.Open(ctx, store.Options{DSN: dsn}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.store.Close()) }()
	if p.clusters, err = openClusters(cfg); err != nil {
		return err
	}
	all, err := p.runnables()
	if err != nil {
		return err
	}
	p.log.Info("Starting", "version", version, "clusters", len(p.clusters), "sqlite", config.SQLite(dsn))
	g, ctx := errgroup.WithContext(ctx)
	for _, r := range all {
		g.Go(func() error { return r(ctx) })
	}
	return g.Wait()
}

// runnables returns the parts of the process. It opens the listeners, so that an address in use is an error
// at once.
func (p *process) runnables() ([]runnable, error) {
	var all []runnable
	p.namespaces = p.newNamespaces()
	for _, c := range p.clusters {
		r, err := p.newRecorder(c)
		if err != nil {
			return nil, err
		}
		all = append(all, c.cache.Start, r.Run)
	}
	p.live = p.newLive()
	all = append(all, p.retention().run, p.live.Run, p.namespaces.Run)
	var err error
	if p.placement, err = p.newPlacement(); err != nil {
		return nil, err
	}
	if p.placement != nil {
		all = append(all, p.placement.Run)
	}
	if p.callers, err = p.newCallers(); err != nil {
		return nil, err
	}
	all = append(all, p.callers.runnables()...)
	exporters, err := p.exporters()
	if err != nil {
		return nil, err
	}
	all = append(all, exporters...)
	if err := p.registry.Register(&collector{store: p.store}); err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	for _, serve := range []func() ([]runnable, error){p.serveAPI, p.serveProbes, p.serveMetrics} {
		servers, err := serve()
		if err != nil {
			return nil, err
		}
		all = append(all, servers...)
	}
	return all, nil
}

// newLive follows the jobs of the clusters with the recorders' informers.
func (p *process) newLive() *live.Clusters {
	informers := map[string]live.Informers{}
	for _, c := range p.clusters {
		informers[c.name] = c.cache
	}
	return live.New(informers, p.log.WithName("live"))
}

// newNamespaces follows the namespaces of the clusters.
func (p *process) newNamespaces() *namespaces.Clusters {
	caches := map[string]namespaces.Cache{}
	for _, c := range p.clusters {
		caches[c.name] = c.cache
	}
	return namespaces.New(caches, p.log.WithName("namespaces"))
}

// exporters to a tracking server, if one is configured.
func (p *process) exporters() ([]runnable, error) {
	if !p.config.MLflow.On() {
		return nil, nil
	}
	clients := map[string]client.Client{}
	for _, c := range p.clusters {
		clients[c.name] = c.client
	}
	e, err := mlflow.New(mlflow.Options{
		Config: p.config.MLflow, Store: p.store, Clusters: clients, Log: p.log.WithName("mlflow"),
	})
	if err != nil {
		return nil, fmt.Errorf("reading mlflow: %w", err)
	}
	if err := e.Register(p.registry); err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	return []runnable{e.Run}, nil
}

func (p *process) newRecorder(c cluster) (*recorder.Recorder, error) {
	r := recorder.New(recorder.Options{
		Cluster: c.name, Store: p.store, Cache: c.cache, Client: c.client, Namespaces: p.namespaces.Of(c.name),
		Finalizer: p.config.Finalizer.Enabled, GPUs: framework.GPUs(p.config.GPUs),
		GPUKindLabels: p.config.GPUKindLabels, UserKeys: p.config.UserKeys, Log: p.log.WithName("recorder"),
	})
	if err := r.Register(p.registry); err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	p.recorders = append(p.recorders, r)
	return r, nil
}

func (p *process) retention() *retention {
	return &retention{
		store: p.store, keep: time.Duration(p.config.Retention.Days) * 24 * time.Hour, clock: clock.RealClock{},
		log: p.log.WithName("retention"),
	}
}

// gatherers returns the metrics of this process and of the libraries.
func (p *process) gatherers() prometheus.Gatherers {
	return prometheus.Gatherers{metrics.Registry, p.registry}
}
