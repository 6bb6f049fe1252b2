package sim

import (
	"strings"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

const trace = `job,ranks,submit_seconds,duration_seconds
a,4,0,3600
b,16,600,7200
c,1,3000,60
`

func TestRepeat(t *testing.T) {
	s := busy
	s.For = 10 * time.Hour
	w, err := workload.ReadTrace(strings.NewReader(trace), "trace.csv", TraceOptions(s, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	jobs := Repeat(w, s, 1)
	var work time.Duration
	shapes, high := map[int64]int{}, 0
	for _, j := range jobs {
		work += time.Duration(j.Total()) * min(j.Work, s.For-j.Arrives)
		shapes[j.Total()]++
		if j.Value == High {
			high++
		}
		if j.Arrives < 0 || j.Arrives > s.For {
			t.Errorf("a gang arrives at %s", j.Arrives)
		}
	}
	load := work.Hours() / (float64(s.Nodes) * float64(s.GPUsPerNode) * s.For.Hours())
	if load < s.Load || load > 1.5*s.Load {
		t.Errorf("the load is %.2f, want %.2f", load, s.Load)
	}
	if len(shapes) != 3 || shapes[4]*shapes[16]*shapes[1] == 0 || high == 0 || high == len(jobs) {
		t.Errorf("gangs by their GPUs: %v, of high value %d", shapes, high)
	}
}
