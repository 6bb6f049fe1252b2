package conformance

import (
	"testing"

	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/test/fakescheduler"
)

func TestCapabilities(t *testing.T) {
	for _, s := range Catalogue().Schedulers {
		if err := s.Supports.Check(); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
	if CapabilitiesOf("unknown").Check() == nil {
		t.Error("a scheduler that is not in the catalogue passes")
	}
	fake := CapabilitiesOf(fakescheduler.Name)
	incomplete := CapabilitiesOf(fakescheduler.Name)
	delete(incomplete, KeepsPlace)
	if incomplete.Check() == nil {
		t.Error("a scheduler without an answer for a capability passes")
	}
	needs := []Capability{PreemptsWhole, LimitsQueues}
	if c, reason := CapabilitiesOf(native.Name).Lacks(needs); c != LimitsQueues || reason == "" {
		t.Errorf("native lacks %q: %q", c, reason)
	}
	without := fake.With(HoldsPods, false, "x")
	if c, _ := without.Lacks([]Capability{HoldsPods}); c != HoldsPods || !fake[HoldsPods].Supported {
		t.Error("With changes the original, or nothing")
	}
}
