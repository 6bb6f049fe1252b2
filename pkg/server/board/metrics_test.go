package board

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// measured returns the values of all metrics, by name and labels; of a histogram the count.
func (s *server) measured() map[string]float64 {
	s.t.Helper()
	families, err := s.registry.Gather()
	if err != nil {
		s.t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			key := strings.TrimPrefix(f.GetName(), "trainingjob_server_board_")
			for _, l := range m.GetLabel() {
				key += " " + l.GetValue()
			}
			got[key] = m.GetCounter().GetValue() + m.GetGauge().GetValue() +
				float64(m.GetHistogram().GetSampleCount())
		}
	}
	return got
}

// TestMetrics: pages, streams and bytes are counted by page. Unknown paths add no series.
func TestMetrics(t *testing.T) {
	s := newServer(t, newJob("a", "bert", inPhase(v1alpha1.PhaseQueued)))
	before := len(s.measured())
	if want := 11 * 3; before != want {
		t.Errorf("before the first request there are %d series, want %d", before, want)
	}
	for _, path := range []string{mainJobs, mainJobs + "?q=a", mainJobs + "?sort=nonsense",
		"/board/clusters/invented/jobs", "/board/nothing"} {
		s.get(path)
	}
	s.api.locked(func() { s.api.away = problem.New(problem.Unavailable, "the cluster is away", "wait") })
	s.get(mainJobs)
	s.api.locked(func() { s.api.away = nil })

	b := s.open("ann", mainJobs, s.digestOf(mainJobs))
	s.soon("a stream is counted", func() bool { return s.measured()["streams jobs"] == 1 })
	s.api.set("bert", running("runs at last"))
	s.soon("the change is sent", func() bool { return len(b.patches()) == 1 })
	eventually(t, "the change is counted", func() bool { return s.measured()["updates_total jobs"] == 1 })
	got := s.measured()
	for key, want := range map[string]float64{
		"pages_total jobs shown": 3, "pages_total jobs refused": 2, "pages_total jobs failed": 1,
		"pages_total map shown": 0,
	} {
		if is, has := got[key]; is != want || !has {
			t.Errorf("%s is %g, want %g", key, is, want)
		}
	}
	if got["render_duration_seconds jobs"] < 8 || got["stream_bytes_total jobs"] < 200 {
		t.Errorf("rendered %g times, sent %g bytes", got["render_duration_seconds jobs"],
			got["stream_bytes_total jobs"])
	}
	if added := len(got) - before; added != 4 {
		t.Errorf("%d series were added: %v", added, got)
	}
	b.end()
	s.soon("the stream is counted no longer", func() bool { return s.measured()["streams jobs"] == 0 })
}

// TestMetricsOfLogs: the stream of a log is counted, too.
func TestMetricsOfLogs(t *testing.T) {
	s, _ := writing(t)
	l := s.followLog(logsPage+"/stream?role=Worker&index=0", "")
	eventually(t, "the log is there", l.has("lines", "step 3"))
	got := s.measured()
	if got["streams logs"] != 1 || got["stream_bytes_total logs"] < 100 || got["updates_total logs"] != 0 {
		t.Errorf("got %v", got)
	}
	l.leave()
	eventually(t, "the stream is counted no longer", func() bool { return s.measured()["streams logs"] == 0 })
}

// TestMetricsAreDescribed: all metrics have descriptions and follow Prometheus' naming.
func TestMetricsAreDescribed(t *testing.T) {
	s := newServer(t, newJob("a", "bert"))
	b := s.open("ann", mainJobs, "")
	s.soon("the page is sent", func() bool { return s.measured()["updates_total jobs"] == 1 })
	b.end()
	families, err := s.registry.Gather()
	if err != nil || len(families) != len(MetricDescriptions()) {
		t.Errorf("%d metrics, %d are described: %v", len(families), len(MetricDescriptions()), err)
	}
	if problems, err := promlint.NewWithMetricFamilies(families).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}
