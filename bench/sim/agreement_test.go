package sim

import "testing"

// others are situations in which a scheduler took others than its model can: native twice took the second of
// two nodes that were equally good, where the model has the first.
var others = map[string]int{"native": 2}

// TestTheModelsDoWhatTheSchedulersDid, in situations that bench/situations has recorded.
func TestTheModelsDoWhatTheSchedulersDid(t *testing.T) {
	all, err := Agreements()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(orderOf) {
		t.Errorf("%d records, want one of each of %d schedulers", len(all), len(orderOf))
	}
	for _, a := range all {
		t.Logf("%s: the same victims in %d of %d situations; their GPUs %.2f, lost %.2f, in all %.2f",
			a.Scheduler, a.Same, a.Situations, a.GPUs, a.Lost, a.Total)
		if !a.Agrees() || a.Situations-a.Same > others[a.Scheduler] {
			t.Errorf("the model of %s takes others", a.Scheduler)
		}
	}
}
