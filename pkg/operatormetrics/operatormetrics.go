// Package operatormetrics answers one question: is this replica of the operator there, does it lead, and how
// long do its certificates last? It knows no job; what the operator does with them is counted in
// pkg/controller.
package operatormetrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mlplatform.example.com/trainingjob-operator/pkg/metric"
)

// Names of certificates: values of the label certificate.
const (
	CertificateMetrics  = "metrics"
	CertificateReports  = "reports"
	CertificateReportCA = "reports-ca"
)

const (
	nameLeading     = "trainingjob_operator_leading"
	nameBuild       = "trainingjob_operator_build_info"
	nameCertificate = "trainingjob_operator_certificate_expiry_timestamp_seconds"
)

// Descriptions of the metrics, in the order of reading.
func Descriptions() []metric.Description {
	return []metric.Description{
		{Name: nameLeading, Type: metric.Gauge, Cardinality: "1",
			Help: "1 on the leader, 0 on standby replicas."},
		{Name: nameBuild, Type: metric.Gauge, Labels: []string{"version"}, Cardinality: "1",
			Help: "1, with the operator's version."},
		{Name: nameCertificate, Type: metric.Gauge, Labels: []string{"certificate"}, Cardinality: "3 certificates",
			Help: "Expiry of a certificate: of the metrics, of the report server, or of the CA that ranks trust."},
	}
}

// Collector reads its values when it is scraped.
type Collector struct {
	// Version of the operator.
	Version string
	// Leading is closed when this replica leads.
	Leading <-chan struct{}
	// Certificates say when each of them ends, by name; the zero time: not known.
	Certificates map[string]func() time.Time
}

// Describe implements prometheus.Collector.
func (c Collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range Descriptions() {
		to <- d.Desc()
	}
}

// Collect implements prometheus.Collector.
func (c Collector) Collect(to chan<- prometheus.Metric) {
	d := map[string]*prometheus.Desc{}
	for _, described := range Descriptions() {
		d[described.Name] = described.Desc()
	}
	gauge := func(name string, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d[name], prometheus.GaugeValue, value, labels...)
	}
	leads := 0.0
	select {
	case <-c.Leading:
		leads = 1
	default:
	}
	gauge(nameLeading, leads)
	gauge(nameBuild, 1, metric.Text(c.Version))
	for name, end := range c.Certificates {
		if t := end(); !t.IsZero() {
			gauge(nameCertificate, float64(t.Unix()), name)
		}
	}
}
