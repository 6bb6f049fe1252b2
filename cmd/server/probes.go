package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"mlplatform.example.com/trainingjob-operator/pkg/server/config"
)

// probeTimeout is shorter than the timeout of the probes in deploy/server.
const probeTimeout = time.Second

// serveProbes serves at health.bindAddress.
func (p *process) serveProbes() ([]runnable, error) {
	if p.config.Health.BindAddress == config.Off {
		return nil, nil
	}
	server, err := serveAdmin("health", p.config.Health.BindAddress, p.probes(), nil)
	return []runnable{server}, err
}

// probes are /healthz, the process responds; /readyz, the data can be read. No kubelet probe uses /clusters,
// because the server can serve the other clusters when one is unavailable, and /readyz/acting, the server has
// the rights to act for its callers.
func (p *process) probes() http.Handler {
	clusters := map[string]healthz.Checker{}
	for _, r := range p.recorders {
		clusters[r.Cluster] = func(*http.Request) error {
			if !r.Synced() {
				return fmt.Errorf("not all jobs are listed, %d are not written", r.Pending())
			}
			return nil
		}
	}
	mux := http.NewServeMux()
	for path, checks := range map[string]map[string]healthz.Checker{
		"/healthz": {"ping": healthz.Ping}, "/readyz": {"database": p.databaseReads}, "/clusters": clusters,
	} {
		handler := http.StripPrefix(path, &healthz.Handler{Checks: checks})
		mux.Handle(path, handler)
		mux.Handle(path+"/", handler)
	}
	mux.Handle("/readyz/acting", healthz.CheckHandler{Checker: p.callers.access.Acting})
	return mux
}

// databaseReads: a database that is not writable, such as on a full disk, still serves the history.
func (p *process) databaseReads(req *http.Request) error {
	ctx, cancel := context.WithTimeout(req.Context(), probeTimeout)
	defer cancel()
	return p.store.Ping(ctx)
}
