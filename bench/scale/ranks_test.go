package scale

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/bench/timeline"
)

// One gang of two is preempted, runs again, and is preempted again; another is left alone.
func TestAnswers(t *testing.T) {
	r := newRanks()
	see := func(at int, gang, uid string, states ...timeline.State) {
		for _, s := range states {
			r.see(timeline.Event{At: time.Duration(at) * time.Millisecond, Gang: gang, UID: types.UID(uid), State: s})
		}
	}
	see(1, "a", "a0", timeline.Pending, timeline.Bound, timeline.Running)
	see(1, "a", "a1", timeline.Pending, timeline.Bound, timeline.Running)
	see(1, "b", "b0", timeline.Pending, timeline.Bound, timeline.Running)
	see(2, "b", "b1", timeline.Pending, timeline.EndingUnbound, timeline.Gone) // it never had a node
	if !r.running("a", 2) || r.running("b", 2) {
		t.Error("who runs is wrong at first")
	}
	see(100, "a", "a1", timeline.Ending)
	if r.running("a", 2) {
		t.Error("a gang that loses a rank runs")
	}
	see(130, "a", "a1", timeline.Gone)
	see(140, "a", "a0", timeline.Ending)
	see(150, "a", "a0", timeline.Ended)
	see(170, "a", "a0", timeline.Gone)
	see(180, "a", "a2", timeline.Pending, timeline.Bound, timeline.Running)
	see(180, "a", "a3", timeline.Pending, timeline.Bound, timeline.Running)
	if !r.running("a", 2) {
		t.Error("the next attempt does not run")
	}
	see(200, "a", "a2", timeline.Gone)
	see(210, "a", "a3", timeline.Gone)
	if diff := cmp.Diff([]float64{0.01, 0.07}, sortedSeconds(r.answers)); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"a": 4}, r.lost); diff != "" {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"a": 4, "b": 2}, r.created); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
}
