package conformance

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestCompareList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list.txt")
	ran := []Outcome{{Scenario: "b"}, {Scenario: "a", Lacking: "it cannot"}, {Scenario: "d", Target: "it"}}
	if err := CompareList(path, ran, false); err == nil {
		t.Error("a list that is not committed passes")
	}
	if err := CompareList(path, ran, true); err != nil {
		t.Fatal(err)
	}
	if err := CompareList(path, ran, false); err != nil {
		t.Error(err)
	}
	err := CompareList(path, ran[:1], false)
	if err == nil || !strings.Contains(err.Error(),
		"committed, and did not happen: a: not applicable: it cannot") {
		t.Errorf("a scenario that is missing: %v", err)
	}
	err = CompareList(path, append(ran[:2:2], Outcome{Scenario: "d"}), false)
	if err == nil || !strings.Contains(err.Error(), "committed, and did not happen: d: left to make it") {
		t.Errorf("a scenario that is declared as left out: %v", err)
	}
	err = CompareList(path, append(ran, Outcome{Scenario: "c"}), false)
	if err == nil || !strings.Contains(err.Error(), "happened, and is not committed: c: ran") {
		t.Errorf("a scenario more: %v", err)
	}
}
