//go:build cluster

package conformance

import (
	"strings"
	"testing"
)

// TestLeavesVictimsToTheirScheduler: where the scheduler ends all ranks of a gang that it preempts, the
// operator deletes none (see scheduler.Traits). It deletes those that the fake leaves.
func TestLeavesVictimsToTheirScheduler(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		dialect *dialect
		deletes bool
	}{
		"native":                {nativeDialect(), false},
		"fake that evicts part": {evictsPart(), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := clusterOf(t, tc.dialect)
			defer cluster.takeTurn(tc.dialect)()
			got, err := attemptScenario(inTime(t), cluster, tc.dialect, cycle(loser, winner), nil)
			if err != nil {
				t.Fatal(err)
			}
			var deletes []string
			for _, write := range got.writes {
				if KindOf(write) == "DELETE pods" && strings.Contains(write, "/"+loser.name+"-") {
					deletes = append(deletes, write)
				}
			}
			if tc.deletes != (len(deletes) > 0) {
				t.Errorf("the operator deleted %q of the preempted gang", deletes)
			}
		})
	}
}
