package sim

import (
	"fmt"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/forecast"
)

// TestLateForecastIsJudgedOnce: a gang can wait until its forecast, which was late, no longer counts. Its
// start then changes no other record.
func TestLateForecastIsJudgedOnce(t *testing.T) {
	f := newForecasters([]Forecasting{{}})[0]
	add := func(id int, given, latest time.Duration) {
		f.open[id], f.record[id], f.given[id] = &Forecast{}, len(f.records), given
		f.records = append(f.records, forecast.Record{
			ID: fmt.Sprint(id), Lane: "a", Given: epoch.Add(given), Latest: epoch.Add(latest),
		})
	}
	const many = 3000
	add(0, 0, time.Second)
	for id := 1; id < many; id++ {
		at := time.Duration(id) * time.Minute
		add(id, at, at+30*time.Second)
		f.starts(id, at+time.Second)
	}
	add(many, many*time.Minute, 2*many*time.Minute)
	f.compact(epoch.Add(many * time.Minute))
	if n := len(f.records); n > forecast.MaxJudged+1 {
		t.Fatalf("%d records are left", n)
	}
	f.starts(0, (many+1)*time.Minute)
	pending := 0
	for _, r := range f.records {
		if r.Result == forecast.Pending {
			pending++
		}
	}
	if pending != 1 {
		t.Errorf("%d records are pending, want that of the gang that still waits", pending)
	}
	f.starts(many, (many+2)*time.Minute)
	if len(f.done) != many+1 || len(f.open) != 0 || len(f.record) != 0 {
		t.Errorf("%d forecasts are done, %d are open, %d have records", len(f.done), len(f.open), len(f.record))
	}
}
