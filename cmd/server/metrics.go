package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"

	"mlplatform.example.com/trainingjob-operator/pkg/metric"
	"mlplatform.example.com/trainingjob-operator/pkg/server/config"
)

// The API server of the first cluster authenticates and authorizes requests for the metrics.
//
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// serveMetrics serves at metrics.bindAddress; secure metrics only to users who may GET /metrics in the first
// cluster.
func (p *process) serveMetrics() ([]runnable, error) {
	c := p.config.Metrics
	if c.BindAddress == config.Off {
		return nil, nil
	}
	handler := promhttp.HandlerFor(p.gatherers(), promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError})
	var all []runnable
	var over *tls.Config
	if c.Secure {
		guarded, err := p.guard(handler)
		if err != nil {
			return nil, fmt.Errorf("securing the metrics: %w", err)
		}
		handler = guarded
		certificate, err := ownCertificate()
		if c.CertificateDir != "" {
			var follow runnable
			if certificate, follow, err = certificateOf("metrics.certificateDir", c.CertificateDir); err == nil {
				all = append(all, follow)
			}
		}
		if err != nil {
			return nil, err
		}
		over = secure(certificate, "http/1.1")
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", handler)
	server, err := serveAdmin("metrics", c.BindAddress, mux, over)
	return append(all, server), err
}

func (p *process) guard(handler http.Handler) (http.Handler, error) {
	at := p.clusters[0].rest
	httpClient, err := rest.HTTPClientFor(at)
	if err != nil {
		return nil, err
	}
	filter, err := filters.WithAuthenticationAndAuthorization(at, httpClient)
	if err != nil {
		return nil, err
	}
	return filter(p.log.WithName("metrics"), handler)
}

const (
	nameBuild    = "trainingjob_server_build_info"
	nameDatabase = "trainingjob_server_database_up"
)

// metricDescriptions returns the metrics of the process.
func metricDescriptions() []metric.Description {
	return []metric.Description{
		{Name: nameBuild, Type: metric.Gauge, Labels: []string{"version"}, Cardinality: "1",
			Help: "1, with the version of the server."},
		{Name: nameDatabase, Type: metric.Gauge, Cardinality: "1",
			Help: "1 if the database can be read. The recorder's lag shows whether it can be written."},
	}
}

type pinger interface{ Ping(context.Context) error }

// collector reads its values at each scrape.
type collector struct{ store pinger }

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range metricDescriptions() {
		to <- d.Desc()
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	up := 1.0
	if err := c.store.Ping(ctx); err != nil {
		up = 0
	}
	d := metricDescriptions()
	to <- prometheus.MustNewConstMetric(d[0].Desc(), prometheus.GaugeValue, 1, metric.Text(version))
	to <- prometheus.MustNewConstMetric(d[1].Desc(), prometheus.GaugeValue, up)
}
