package session

import (
	"encoding/base64"
	"net/url"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
)

func base64Text(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

// TestMetrics are those that are described, and say what has happened.
func TestMetrics(t *testing.T) {
	fake := newClock()
	r := newReplica(t, setting{clock: fake, identity: identity.Default()})
	b := newBrowser(t)
	b.post(r.server.URL+LoginPath, url.Values{fieldToken: {"wrong-token-of-some-length"}})
	b.post(r.server.URL+LoginPath, url.Values{fieldToken: {reviewed}})
	b.get(r.server.URL + "/")
	b.post(r.server.URL+"/", nil)
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			key := f.GetName()
			for _, l := range m.GetLabel() {
				key += " " + l.GetValue()
			}
			got[key] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	for key, want := range map[string]float64{
		"trainingjob_server_logins_total accepted token":            1,
		"trainingjob_server_logins_total rejected token":            1,
		"trainingjob_server_session_authentications_total accepted": 1,
		"trainingjob_server_session_authentications_total forged":   1,
		"trainingjob_server_sessions":                               1,
	} {
		if got[key] != want {
			t.Errorf("%s is %g, want %g", key, got[key], want)
		}
	}
	if len(families) != len(MetricDescriptions()) {
		t.Errorf("%d metrics, %d are described", len(families), len(MetricDescriptions()))
	}
	if problems, err := promlint.NewWithMetricFamilies(families).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}
