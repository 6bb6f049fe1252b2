package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/stats"
)

// twoStacks with a run each; the first has a value, the second has not, when that is nil.
func twoStacks(second *result.Run) played {
	first := result.Run{Seconds: 10, HeldIncomplete: 5}
	p := played{stacks: []stackRuns{{Stack: result.Stack{Name: "a"}, runs: []result.Run{first}}}}
	if second != nil {
		p.stacks = append(p.stacks, stackRuns{Stack: result.Stack{Name: "b"}, runs: []result.Run{*second}})
	}
	return p
}

func TestTable(t *testing.T) {
	p := twoStacks(&result.Run{Seconds: 20, CutAfter: 20})
	unknownToAll := func(result.Workload, result.Run) stats.Bounds { return stats.Unknown() }
	var without dropped
	got := p.table("Title", []column{
		{name: "time", of: untilEnd, show: amount},
		{name: "held", of: count(heldIncomplete), show: amount},
		{name: "lost", of: count(lost), show: amount},
		{name: "p50", of: unknownToAll, show: amount, long: "delay p50"},
	}, &without)
	want := &table{
		Title: "Title", Head: []string{"stack", "n", "time", "held"},
		Rows: [][]string{{"a", "1", "10", "5"}, {"b", "1", ">20", "0"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(dropped{Zero: []string{"lost"}, Nothing: []string{"delay p50"}}, without); diff != "" {
		t.Error(diff)
	}
	if got := p.table("", []column{{name: "lost", of: count(lost), show: amount}}, &without); got != nil {
		t.Errorf("a table without columns is %v, want none", got)
	}
}

func TestBreakdowns(t *testing.T) {
	written := func(counts map[string]int) result.Run {
		return result.Run{Gangs: make([]result.Gang, 2), Writes: map[string]map[string]int{"client": counts}}
	}
	p := played{stacks: []stackRuns{
		{Stack: result.Stack{Name: "a"}, runs: []result.Run{
			written(map[string]int{"create pods": 4, "patch jobs": 2}),
			written(map[string]int{"create pods": 4, "delete pods": 8, "create events": 1}),
			written(map[string]int{"create pods": 8, "patch jobs": 2, "delete pods": 1}),
			{Gangs: make([]result.Gang, 2)},
		}},
		{Stack: result.Stack{Name: "b"}, runs: []result.Run{{Gangs: make([]result.Gang, 2)}}},
	}}
	want := []breakdown{
		{Stack: "a", Runs: 3, Total: stats.Exactly(5.5), Shares: []share{
			{"client: create pods", 2}, {"client: patch jobs", 1}, {"client: delete pods", 0.5},
		}},
		{Stack: "b", Total: stats.Unknown()},
	}
	if diff := cmp.Diff(want, p.breakdowns(3, writesInDetail)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]share{{"client: create pods", 2}, {others, 1.5}},
		p.breakdowns(1, writesInDetail)[0].Shares); diff != "" {
		t.Error(diff)
	}
	if got := p.breakdowns(1, idleWrites); says(got) {
		t.Errorf("nothing was measured, and shown is %v", got)
	}
	p.stacks[0].runs[0].IdleWrites = map[string]map[string]int{}
	if got := p.breakdowns(1, idleWrites); !says(got) || !isZero(got) {
		t.Errorf("nothing was written, and shown is %v", got)
	}
}

func TestPerThousand(t *testing.T) {
	run := result.Run{
		Gangs: make([]result.Gang, 4), CPU: map[string]float64{"a": 2}, PeakMemory: map[string]int64{"a": 3 << 20},
		IdleWrites: map[string]map[string]int{"a": {"x": 1, "y": 2}},
	}
	run.Gangs = append(run.Gangs, gang(-1, -1, -1, -1)) // it was never submitted
	for name, tc := range map[string]struct {
		reason    string
		got, want parts
	}{
		"CPU":           {"2 s of 4 jobs", cpuPerThousand(run), parts{"a": 500}},
		"memory":        {"3 MiB", peakMemory(run), parts{"a": 3}},
		"memory by job": {"3 MiB of 4 jobs", memoryPerThousand(run), parts{"a": 750}},
		"idle":          {"not by job", idleWrites(run), parts{"a": 3}},
		"no jobs":       {"nothing by job", cpuPerThousand(result.Run{CPU: run.CPU}), nil},
		"no CPU":        {"not measured", cpuPerThousand(result.Run{Gangs: run.Gangs}), nil},
		"no memory":     {"not measured", peakMemory(result.Run{Gangs: run.Gangs}), nil},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s: %s: %s", name, tc.reason, diff)
		}
	}
}

func TestFormat(t *testing.T) {
	for name, tc := range map[string]struct{ reason, got, want string }{
		"whole":       {"no digits after the point", Number(60), "60"},
		"large":       {"all digits before the point", Number(123456.7), "123457"},
		"three":       {"significant digits", Number(1.23456), "1.23"},
		"tens":        {"significant digits", Number(45.678), "45.7"},
		"rounded up":  {"not 100.0", Number(99.96), "100"},
		"small":       {"significant digits", Number(0.012345), "0.0123"},
		"unknown":     {"never 0", amount(stats.Unknown()), "-"},
		"zero":        {"known to be 0", amount(stats.Exactly(0)), "0"},
		"cut":         {"more than", amount(stats.AtLeast(180)), ">180"},
		"at most":     {"less than", ratio(stats.Bounds{High: 0.25}), "<0.25"},
		"interval":    {"both ends", ratio(stats.Bounds{Low: 1.1, High: 1.25}), "1.10 to 1.25"},
		"small ratio": {"not 0.00", ratio(stats.Exactly(0.00123)), "0.00123"},
		"share":       {"percent", percent(stats.Exactly(0.8251)), "82.5%"},
		"never":       {"in words", within(stats.AtLeast(180)), "not within 180"},
		"within":      {"a time", within(stats.Exactly(12.34)), "12.3"},
		"not known":   {"never 0", within(stats.Unknown()), "-"},
		"pipe":        {"it would end the cell", markdownCell("a|b\nc<d"), `a\|b c&lt;d`},
		"empty":       {"unknown", markdownCell(""), "-"},
		"no memory":   {"unknown", gib(0), "-"},
		"short":       {"cut", short(5, "volcano"), "volc~"},
		"short fits":  {"not cut", short(7, "volcano"), "volcano"},
		"plain":       {"no escape sequences", plain("a\x1b[31mb\tc"), "a [31mb c"},
		"versions":    {"sorted", versions(map[string]string{"b": "2", "a": "1"}), "a 1, b 2"},
		"no versions": {"unknown", versions(nil), "-"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %q, want %q: %s", name, tc.got, tc.want, tc.reason)
		}
	}
}
