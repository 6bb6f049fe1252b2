package sim

import (
	"bytes"
	"testing"
)

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

// TestRecordsAreEncoded: the files are as bench calibrate writes them.
func TestRecordsAreEncoded(t *testing.T) {
	all, err := Records()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		want, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := records.ReadFile("records/" + r.Scheduler + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s.json is not encoded by Record.Encode", r.Scheduler)
		}
	}
}
