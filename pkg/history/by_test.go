package history

import "testing"

func TestBy(t *testing.T) {
	for _, test := range []struct{ message, want string }{
		{"bert-worker-0: preempting to accommodate a higher priority pod (and 1 rank more); all are ended",
			"a higher priority pod"},
		{"Preempted to accommodate a workload due to prioritization in the ClusterQueue",
			"a workload due to prioritization in the ClusterQueue"},
		{"makes room for job urgent, which has a higher priority; a checkpoint is asked for first (at most 19s)",
			"job urgent"},
		{"yields to a job of another namespace, which has a higher priority", "a job of another namespace"},
		{"node gpu-1 is lost", ""},
	} {
		if got := by(test.message); got != test.want {
			t.Errorf("%q: by %q, want %q", test.message, got, test.want)
		}
	}
}
