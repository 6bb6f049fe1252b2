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
	has         Capabilities
} {
	return []struct {
		name, title string
		has         Capabilities
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
	for _, capability := range AllCapabilities() {
		fmt.Fprintf(&b, "| %s |", capability)
		for _, s := range all {
			f := s.has[capability]
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
	b.WriteString(pauses)
	return b.String(), nil
}

// pauses: what was found in the schedulers' sources, and measured, and what an admin can do about it.
const pauses = `
## Why native and coscheduling may start a lower gang first

Both are kube-schedulers, which leave alone for a while whatever they have tried in vain. Where a lower gang takes room that a
higher one waits for, the higher one preempts it as soon as it is tried (scenario priority-wins): the order holds in the end, at the
price of a preemption. What nobody has tried yet does not pause: gangs that came while the scheduler was away start in the order of
their priority (scenario priority-after-absence).

**coscheduling.** Each rank that found no node pauses for podInitialBackoffSeconds to podMaxBackoffSeconds (both 3 in
[the configuration that ships](../lab/modules/scheduler-plugins/scheduler.yaml)). Gangs that came one after the other pause one
after the other, so that room goes to the first whose pause ends. When all have rested, one event wakes them together, and they are
tried by priority (measured with scenario priority-at-rest, whose room comes as one node at a time, for room that comes piece by piece
is tried piece by piece: 10 of 10 after 7 s of rest, and once the lower gang on a machine so busy that ranks were still paused then).
Shorter pauses shorten the time in which this can happen. Why they cannot be shorter than 3 s stands in that file.

**native** (Kubernetes 1.36.3, pkg/scheduler/backend/queue). A gang never rests: events do not wake it, so that after each try in vain
it goes straight to the pods that pause (scheduling_queue.go:825), and with the feature gate SchedulerPopFromBackoffQ, on by default,
the scheduler takes from these whenever it has nothing else to do (active_queue.go:318). So it tries gangs that wait without end: the
one whose pause would end first, and among those of the same second the highest (backoff_queue.go:191). A gang that has just come has
pauses of 1, 2, 4 and 8 s before it has the others' 10 s, so that for its first tries it comes before all others (measured: it took
the room of a higher one in 2 of 6 runs in which room came at this moment); and at the turn of each second every gang is tried once
(none did in 16 plays of priority-at-rest, nor in 12 of priority-order, but nothing rules it out). A gang that preempts pauses in full
itself, so that its victim may take the room again and be preempted again (seen once). No setting closes these gaps:
podInitialBackoffSeconds must be above 0, and the gate SchedulerQueueingHints, without which gangs would rest, is locked.

A gang that waits thus costs kube-scheduler a good part of a core (42% on a busy machine; 0% with
--feature-gates=SchedulerPopFromBackoffQ=false, both measured with one gang of three ranks). With that gate off a gang takes room that
has come after at most podMaxBackoffSeconds (default 10) and a second, and the order is worse: whose pause ends first is tried first.
`
