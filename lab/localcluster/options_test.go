package localcluster

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDefaults(t *testing.T) {
	got, err := Options{Dir: "/d"}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	want := Options{
		Dir: "/d", Schedulers: []string{"coscheduling", "native", "volcano"},
		Nodes: 4, GPUsPerNode: 8, CPUPerNode: "96", MemoryPerNode: "1Ti",
		NodeGracePeriod: 12 * time.Second, Progress: io.Discard,
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b io.Writer) bool { return a == b })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	none, err := Options{Dir: "/d", Nodes: -1, GPUsPerNode: -1}.withDefaults()
	if err != nil || none.Nodes != 0 || none.GPUsPerNode != 0 {
		t.Errorf("none of either: %+v, %v", none, err)
	}
}

func TestWrongOptionsAreNamed(t *testing.T) {
	for want, options := range map[string]Options{
		"Options.Dir is empty":    {},
		"unknown scheduler":       {Dir: "/d", Schedulers: []string{"slurm"}},
		"unknown add-on":          {Dir: "/d", AddOns: []string{"slurm"}},
		"needs the add-on":        {Dir: "/d", AddOns: []string{AddOnTrainer}},
		"cannot be set; those of": {Dir: "/d", Limits: map[string]Limits{"etcd": {QPS: 1}}},
		"none may be negative":    {Dir: "/d", Limits: map[string]Limits{ProcessKueue: {QPS: -1}}},
		"number of workers":       {Dir: "/d", Limits: map[string]Limits{ProcessJobSet: {Workers: 1}}},
		"at least 3s":             {Dir: "/d", NodeGracePeriod: time.Second},
		`reading quantity "lots"`: {Dir: "/d", MemoryPerNode: "lots"},
	} {
		if _, err := options.withDefaults(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
