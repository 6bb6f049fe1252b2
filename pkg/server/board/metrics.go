package board

import (
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"mlplatform.example.com/trainingjob-operator/pkg/metric"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// pageNames is the number of values of the label page: the names in routes.
const pageNames = "11 pages"

// pageLogs is the page whose stream has no updates.
const pageLogs = "logs"

// MetricDescriptions of the package, in the order of the documentation.
func MetricDescriptions() []metric.Description {
	page := []string{"page"}
	return []metric.Description{
		{
			Name: "trainingjob_server_board_pages_total", Type: metric.Counter, Labels: []string{"page", "result"},
			Cardinality: pageNames + " × 3",
			Help:        "Requests for pages, without updates, by result: shown, refused (bad request) or failed.",
		},
		{
			Name: "trainingjob_server_board_streams", Type: metric.Gauge, Labels: page, Cardinality: pageNames,
			Help: "Open update streams, one for each open page.",
		},
		{
			Name: "trainingjob_server_board_render_duration_seconds", Type: metric.Histogram, Labels: page,
			Cardinality: pageNames, Help: "Duration of rendering a page, initially and for each check for " +
				"changes.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		},
		{
			Name: "trainingjob_server_board_updates_total", Type: metric.Counter, Labels: page,
			Cardinality: pageNames,
			Help:        "Updates that were sent to browsers, without log lines.",
		},
		{
			Name: "trainingjob_server_board_stream_bytes_total", Type: metric.Counter, Labels: page,
			Cardinality: pageNames, Help: "Bytes that streams have sent, including logs.",
		},
	}
}

type metrics struct {
	pages          *prometheus.CounterVec
	streams        *prometheus.GaugeVec
	rendered       *prometheus.HistogramVec
	updates, bytes *prometheus.CounterVec
}

func newMetrics() *metrics {
	d := MetricDescriptions()
	return &metrics{
		pages:    d[0].NewCounter(),
		streams:  prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: d[1].Name, Help: d[1].Help}, d[1].Labels),
		rendered: d[2].NewHistogram(), updates: d[3].NewCounter(), bytes: d[4].NewCounter(),
	}
}

func (m *metrics) register(r prometheus.Registerer) error {
	for _, c := range []prometheus.Collector{m.pages, m.streams, m.rendered, m.updates, m.bytes} {
		if err := r.Register(c); err != nil {
			return fmt.Errorf("registering the metrics of the board: %w", err)
		}
	}
	return nil
}

// Results of requests for pages.
const (
	resultShown   = "shown"
	resultRefused = "refused"
	resultFailed  = "failed"
)

// expect creates the counters of a page at zero.
func (m *metrics) expect(page string) {
	for _, result := range []string{resultShown, resultRefused, resultFailed} {
		m.pages.WithLabelValues(page, result)
	}
}

// answered counts a page by its result.
func (m *metrics) answered(page string, err error) {
	result := resultShown
	if err != nil {
		result = resultRefused
		if problem.Of(err).Status >= http.StatusInternalServerError {
			result = resultFailed
		}
	}
	m.pages.WithLabelValues(page, result).Inc()
}

// counted measures each rendering of a page.
func (b *Board) counted(
	name string, render func(*http.Request) (view, error),
) func(*http.Request) (view, error) {
	return func(r *http.Request) (view, error) {
		begun := b.Clock.Now()
		v, err := render(r)
		b.metrics.rendered.WithLabelValues(name).Observe(b.Clock.Since(begun).Seconds())
		return v, err
	}
}

// streaming counts a stream of a page until end is called, and the bytes written to the returned writer.
func (m *metrics) streaming(page string, w http.ResponseWriter) (counted http.ResponseWriter, end func()) {
	open := m.streams.WithLabelValues(page)
	open.Inc()
	return &countingWriter{w, m.bytes.WithLabelValues(page)}, open.Dec
}

// countingWriter counts the bytes of an answer.
type countingWriter struct {
	http.ResponseWriter
	bytes prometheus.Counter
}

// Write implements http.ResponseWriter.
func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b)
	c.bytes.Add(float64(n))
	return n, err
}

// Unwrap is used by http.ResponseController.
func (c *countingWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }
