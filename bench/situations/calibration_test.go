package situations

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/bench/play"
	"mlplatform.example.com/trainingjob-operator/bench/sim"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// TestNodesAreNumberedAsTheyAreMade: records name nodes by number.
func TestNodesAreNumberedAsTheyAreMade(t *testing.T) {
	for i, node := range play.FakeNodes(12, gpusPerNode) {
		if got, err := numberOf(node.Name); err != nil || got != i {
			t.Errorf("%s is number %d: %v, want %d", node.Name, got, err, i)
		}
	}
	if _, err := numberOf("control-plane"); err == nil {
		t.Error("a node without a number has one")
	}
}

func TestShapes(t *testing.T) {
	g := &Ground{Nodes: 12}
	want := []struct{ ranks, gpus int }{{1, 1}, {1, 2}, {1, 4}, {1, 8}, {2, 8}, {3, 8}}
	for nth := range 2 * sizes {
		ranks, gpus := g.shape(nth)
		if w := want[nth%sizes]; ranks != w.ranks || gpus != w.gpus {
			t.Errorf("size %d is %d ranks of %d GPUs, want %+v", nth, ranks, gpus, w)
		}
	}
}

// TestARecordGoesOn where programs and nodes are the same.
func TestARecordGoesOn(t *testing.T) {
	c := &Calibration{Ground: Ground{Scheduler: "native", Nodes: 12, Out: t.TempDir()}}
	versions := map[string]string{"kubernetes": "v1"}
	fresh, err := c.begun(versions)
	if err != nil || len(fresh.Situations) != 0 || !maps.Equal(fresh.Versions, versions) {
		t.Fatalf("a new record is %+v: %v", fresh, err)
	}
	one := sim.Placed{GPUs: 8, On: map[int]int{0: 1}}
	fresh.Situations = []sim.Situation{{Ranks: 1, GPUs: 8, Running: []sim.Placed{one}}}
	if err := c.save(fresh); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		reason   string
		nodes    int
		versions map[string]string
		want     int
	}{
		"the same":      {"it goes on", 12, versions, 1},
		"more nodes":    {"the model knows one number of them", 16, versions, 0},
		"other version": {"it may do something else", 12, map[string]string{"kubernetes": "v2"}, 0},
	} {
		again := &Calibration{Ground: Ground{Scheduler: "native", Nodes: tc.nodes, Out: c.Out}}
		if got, err := again.begun(tc.versions); err != nil || len(got.Situations) != tc.want {
			t.Errorf("%s: %d situations: %v, want %d: %s", name, len(got.Situations), err, tc.want, tc.reason)
		}
	}
}

// TestRuns: a gang runs when its job says so, and all of its ranks do.
func TestRuns(t *testing.T) {
	g := workload.Gang{Name: "g", Ranks: 2}
	now := metav1.Now()
	pod := func(phase corev1.PodPhase, deleted *metav1.Time) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: deleted}, Status: corev1.PodStatus{Phase: phase},
		}
	}
	for name, tc := range map[string]struct {
		phase v1alpha1.Phase
		pods  []corev1.Pod
		want  bool
	}{
		"all":          {v1alpha1.PhaseRunning, []corev1.Pod{pod("Running", nil), pod("Running", nil)}, true},
		"one":          {v1alpha1.PhaseRunning, []corev1.Pod{pod("Running", nil)}, false},
		"one pending":  {v1alpha1.PhaseRunning, []corev1.Pod{pod("Running", nil), pod("Pending", nil)}, false},
		"one ends":     {v1alpha1.PhaseRunning, []corev1.Pod{pod("Running", nil), pod("Running", &now)}, false},
		"the job ends": {v1alpha1.PhaseDraining, []corev1.Pod{pod("Running", nil), pod("Running", nil)}, false},
	} {
		job := &v1alpha1.TrainingJob{Status: v1alpha1.TrainingJobStatus{Phase: tc.phase}}
		v := view{jobs: map[string]*v1alpha1.TrainingJob{"g": job}, pods: map[string][]corev1.Pod{"g": tc.pods}}
		if got := v.runs(g); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
}
