package main

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/util/cert"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"

	"mlplatform.example.com/trainingjob-operator/pkg/config"
	"mlplatform.example.com/trainingjob-operator/pkg/jobmetrics"
	"mlplatform.example.com/trainingjob-operator/pkg/operatormetrics"
	"mlplatform.example.com/trainingjob-operator/pkg/reportserver"
)

// jobScrapes limits parallel requests: each holds the series of all jobs in memory.
const jobScrapes = 2

// addMetrics serves /metrics and /metrics/jobs; if they are secure, to users that the API server allows to
// GET that URL. With two URLs, a right to the operator's metrics does not reveal the names of jobs. reports
// is nil without a report server.
func addMetrics(mgr manager.Manager, cfg config.OperatorConfiguration, reports *reportserver.Server) error {
	c := cfg.Metrics
	if c.BindAddress == config.Off {
		return nil
	}
	ends := certificateEnds{}
	var secure *tls.Config
	guard := func(h http.Handler) (http.Handler, error) { return h, nil }
	if c.Secure {
		filter, err := filters.WithAuthenticationAndAuthorization(mgr.GetConfig(), mgr.GetHTTPClient())
		if err != nil {
			return fmt.Errorf("guarding the metrics: %w", err)
		}
		guard = func(h http.Handler) (http.Handler, error) { return filter(ctrl.Log.WithName("metrics"), h) }
		certificate, err := metricsCertificate(mgr, c.CertificateDir)
		if err != nil {
			return err
		}
		ends[operatormetrics.CertificateMetrics] = endOf(certificate)
		secure = &tls.Config{
			MinVersion: tls.VersionTLS12, GetCertificate: certificate, NextProtos: []string{"http/1.1"},
		}
	}
	if reports != nil {
		ends[operatormetrics.CertificateReports] = reports.CertificateEnd
		ends[operatormetrics.CertificateReportCA] = reports.CAEnd
	}
	mux := http.NewServeMux()
	for path, handler := range metricsHandlers(mgr, cfg, ends) {
		guarded, err := guard(handler)
		if err != nil {
			return fmt.Errorf("guarding the metrics: %w", err)
		}
		mux.Handle(path, guarded)
	}
	listener, err := listen("metrics", c.BindAddress)
	if err != nil {
		return err
	}
	if secure != nil {
		listener = tls.NewListener(listener, secure)
	}
	return addServer(mgr, "metrics", mux, listener)
}

// certificateEnds say when each certificate ends, by its name in operatormetrics.
type certificateEnds map[string]func() time.Time

// metricsHandlers by path. What is read from this manager's cache is in registries of its own: a process may
// start a second manager, and the registry of controller-runtime is the process's.
func metricsHandlers(
	mgr manager.Manager, cfg config.OperatorConfiguration, ends certificateEnds,
) map[string]http.Handler {
	o := jobmetrics.Options{
		Jobs: mgr.GetCache(), Leading: mgr.Elected(), GPUs: cfg.GPUs,
		Limit: cfg.Metrics.Jobs.Limit, RankLimit: cfg.Metrics.Jobs.RankLimit,
	}
	own := prometheus.NewRegistry()
	own.MustRegister(
		jobmetrics.NewSums(o),
		operatormetrics.Collector{Version: version, Leading: mgr.Elected(), Certificates: ends},
	)
	handlers := map[string]http.Handler{
		"/metrics": promhttp.HandlerFor(prometheus.Gatherers{metrics.Registry, own},
			promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}),
	}
	if o.Limit > 0 {
		jobs := prometheus.NewRegistry()
		jobs.MustRegister(jobmetrics.NewJobs(o))
		handlers["/metrics/jobs"] = promhttp.HandlerFor(jobs, promhttp.HandlerOpts{
			ErrorHandling: promhttp.HTTPErrorOnError, MaxRequestsInFlight: jobScrapes,
		})
	}
	return handlers
}

type getCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)

// metricsCertificate reloads the files of a directory; without one it creates a self-signed certificate.
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

// endOf the certificate that is served now.
func endOf(current getCertificate) func() time.Time {
	return func() time.Time {
		pair, err := current(nil)
		if err != nil || pair == nil || pair.Leaf == nil {
			return time.Time{}
		}
		return pair.Leaf.NotAfter
	}
}
