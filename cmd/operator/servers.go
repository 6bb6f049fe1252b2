package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"mlplatform.example.com/trainingjob-operator/pkg/boundedlistener"
	"mlplatform.example.com/trainingjob-operator/pkg/config"
)

// The operator serves its probes and metrics itself: controller-runtime's servers (v0.25, pkg/metrics/server
// and pkg/internal/httpserver) take any number of connections with headers of 1 MiB each, over HTTP/2 too.

// adminConnections of probes and metrics. A kubelet or a Prometheus needs one.
var adminConnections = boundedlistener.Bounds{
	Strangers: 64, StrangersPerAddress: 16, Known: 1, KnownPerClient: 1, NewPerSecond: 10, Burst: 100,
}

// addProbes serves /healthz and /readyz.
func addProbes(mgr manager.Manager, c config.Health) error {
	if c.BindAddress == config.Off {
		return nil
	}
	listener, err := listen("health", c.BindAddress)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	for path, checks := range map[string]map[string]healthz.Checker{
		"/healthz": {"ping": healthz.Ping}, "/readyz": {"caches": cachesSynced(mgr.GetCache())},
	} {
		handler := http.StripPrefix(path, &healthz.Handler{Checks: checks})
		mux.Handle(path, handler)
		mux.Handle(path+"/", handler)
	}
	return addServer(mgr, "health", mux, listener)
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

// listen within bounds at the address of a key of the configuration.
func listen(key, address string) (net.Listener, error) {
	inner, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening at %s.bindAddress: %w", key, err)
	}
	return boundedlistener.New(inner, adminConnections, clock.RealClock{}), nil
}

func addServer(mgr manager.Manager, name string, handler http.Handler, listener net.Listener) error {
	shutdown := 5 * time.Second
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	server := &http.Server{
		Handler: handler, Protocols: protocols, MaxHeaderBytes: 16 << 10, ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
	}
	err := mgr.Add(&manager.Server{
		Name: name, Server: server, Listener: listener, ShutdownTimeout: &shutdown,
	})
	if err != nil {
		return fmt.Errorf("adding the server of %s: %w", name, err)
	}
	return nil
}
