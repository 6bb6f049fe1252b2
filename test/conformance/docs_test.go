package conformance

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var writeDocs = flag.Bool("write-docs", false, "write docs/schedulers.md instead of comparing it")

// schedulers in the order in which users should consider them.
func schedulers() []struct {
	name, title string
	has         Faculties
} {
	return []struct {
		name, title string
		has         Faculties
	}{
		{"volcano", "Volcano 1.14", OnVolcano()},
		{"kueue", "Kueue 0.19, binder native", OnKueue()},
		{"native", "Kubernetes 1.36, native gangs", OnNative()},
		{"coscheduling", "scheduler-plugins 0.34", OnCoscheduling()},
	}
}

// What the suite holds each scheduler to is what users are told of it: nobody writes the table by hand.
func TestSchedulersAreDocumented(t *testing.T) {
	const path = "../../docs/schedulers.md"
	want, err := schedulersPage()
	if err != nil {
		t.Fatal(err)
	}
	if *writeDocs {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/schedulers.md is out of date: go test ./test/conformance -run Documented -write-docs (-want +got):\n%s", diff)
	}
}

func schedulersPage() (string, error) {
	var b strings.Builder
	b.WriteString(`# What each scheduler can do

Written by the conformance suite, which plays the scenarios below on every real scheduler in each test run and compares what
ran with a committed list. Whatever a scheduler cannot do, a gang starts whole or not at all, holds nothing while it waits,
and returns whole.

| A gang on | `)
	all := schedulers()
	for _, s := range all {
		fmt.Fprintf(&b, "%s | ", s.title)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(all)) + "\n")
	for _, ability := range Abilities() {
		fmt.Fprintf(&b, "| %s |", ability)
		for _, s := range all {
			f := s.has[ability]
			fmt.Fprintf(&b, " %s: %s |", map[bool]string{true: "yes", false: "no"}[f.Has], f.Why)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n| Scenario |")
	lists := make([]map[string]string, len(all))
	names := map[string]bool{}
	var order []string
	for i, s := range all {
		list, err := ReadMap("testdata/scenarios-" + s.name + ".txt")
		if err != nil {
			return "", err
		}
		lists[i] = list
		for _, name := range slices.Sorted(maps.Keys(list)) {
			if !names[name] {
				names[name], order = true, append(order, name)
			}
		}
		fmt.Fprintf(&b, " %s |", s.name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(all)) + "\n")
	for _, name := range order {
		fmt.Fprintf(&b, "| %s |", name)
		for _, list := range lists {
			fmt.Fprintf(&b, " %s |", map[bool]string{true: "held", false: "does not apply"}[list[name] == "ran"])
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}
