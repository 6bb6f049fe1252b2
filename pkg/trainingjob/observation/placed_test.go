package observation

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

func TestPlacedRanks(t *testing.T) {
	type ranks = map[v1alpha1.Role]int32
	worker := func(phase, node string) v1alpha1.WorkerStatus {
		return v1alpha1.WorkerStatus{Role: v1alpha1.RoleWorker, Phase: phase, Node: node}
	}
	status := func(phase v1alpha1.Phase, replicas, active int32, list ...v1alpha1.WorkerStatus,
	) v1alpha1.TrainingJobStatus {
		return v1alpha1.TrainingJobStatus{
			Phase: phase, Replicas: replicas, Workers: list,
			ReplicaStatuses: map[v1alpha1.Role]v1alpha1.ReplicaStatus{v1alpha1.RoleWorker: {Active: active}},
		}
	}
	tests := map[string]struct {
		reason string
		status v1alpha1.TrainingJobStatus
		want   ranks
		all    bool
	}{
		"no pods": {"a queued job holds nothing", status(v1alpha1.PhaseQueued, 2, 0), ranks{}, false},
		"pods wait": {"a pod without a node holds nothing",
			status(v1alpha1.PhaseQueued, 2, 2, worker("Pending", ""), worker("Pending", "")), ranks{}, false},
		"some wait": {"minAvailable is placed, one more rank waits",
			status(v1alpha1.PhaseRunning, 3, 3, worker("Pending", ""), worker("Pending", "n1"),
				worker("Running", "n2")), ranks{v1alpha1.RoleWorker: 2}, false},
		"all": {"a rank that starts holds its node",
			status(v1alpha1.PhaseStarting, 2, 2, worker("Pending", "n1"), worker("Running", "n2")),
			ranks{v1alpha1.RoleWorker: 2}, true},
		"ending": {"a rank that terminates holds its node",
			status(v1alpha1.PhaseDraining, 2, 1, worker("Missing", ""), worker("Terminating", "n2")),
			ranks{v1alpha1.RoleWorker: 1}, false},
		"too many to list, queued": {"what is not listed may wait too",
			status(v1alpha1.PhaseQueued, 5, 5, worker("Pending", ""), worker("Pending", "")), nil, false},
		"too many to list, running": {"ranks that wait are listed first",
			status(v1alpha1.PhaseRunning, 5, 5, worker("Pending", ""), worker("Running", "n1")),
			ranks{v1alpha1.RoleWorker: 4}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, PlacedRanks(&tc.status)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if got := AllPlaced(&tc.status); got != tc.all {
				t.Errorf("%s: all placed is %t", tc.reason, got)
			}
		})
	}
}

// TestAllPlacedCountsWhoHasSucceeded: a rank that is through has left its node.
func TestAllPlacedCountsWhoHasSucceeded(t *testing.T) {
	st := v1alpha1.TrainingJobStatus{
		Phase: v1alpha1.PhaseRunning, Replicas: 2,
		ReplicaStatuses: map[v1alpha1.Role]v1alpha1.ReplicaStatus{
			v1alpha1.RoleMaster: {Active: 1}, v1alpha1.RoleWorker: {Succeeded: 1},
		},
	}
	if !AllPlaced(&st) {
		t.Error("one rank runs, the other has succeeded")
	}
}
