package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"

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

// addMetrics serves /metrics; where it is secure, to those whom the API server allows to GET that URL.
func addMetrics(mgr manager.Manager, c config.Metrics) error {
	if c.BindAddress == config.Off {
		return nil
	}
	var handler http.Handler = promhttp.HandlerFor(metrics.Registry,
		promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError})
	var secure *tls.Config
	if c.Secure {
		filter, err := filters.WithAuthenticationAndAuthorization(mgr.GetConfig(), mgr.GetHTTPClient())
		if err != nil {
			return fmt.Errorf("guarding the metrics: %w", err)
		}
		if handler, err = filter(ctrl.Log.WithName("metrics"), handler); err != nil {
			return fmt.Errorf("guarding the metrics: %w", err)
		}
		certificate, err := metricsCertificate(mgr, c.CertificateDir)
		if err != nil {
			return err
		}
		secure = &tls.Config{
			MinVersion: tls.VersionTLS12, GetCertificate: certificate, NextProtos: []string{"http/1.1"},
		}
	}
	listener, err := listen("metrics", c.BindAddress)
	if err != nil {
		return err
	}
	if secure != nil {
		listener = tls.NewListener(listener, secure)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", handler)
	return addServer(mgr, "metrics", mux, listener)
}

type getCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)

// metricsCertificate follows the files of a directory; without one it is made now, and nobody can verify it.
func metricsCertificate(mgr manager.Manager, dir string) (getCertificate, error) {
	if dir == "" {
		certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{{127, 0, 0, 1}}, nil)
		if err != nil {
			return nil, fmt.Errorf("making a certificate for the metrics: %w", err)
		}
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("making a certificate for the metrics: %w", err)
		}
		return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }, nil
	}
	watcher, err := certwatcher.New(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		return nil, fmt.Errorf(
			"reading the metrics' certificate (tls.crt and tls.key in metrics.certificateDir): %w", err)
	}
	if err := mgr.Add(watcher); err != nil {
		return nil, fmt.Errorf("following the metrics' certificate: %w", err)
	}
	return watcher.GetCertificate, nil
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
