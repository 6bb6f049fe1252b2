package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseShard(t *testing.T) {
	for text, want := range map[string]Shard{"1/1": {1, 1}, "1/4": {1, 4}, "12/12": {12, 12}} {
		if got, err := ParseShard(text); err != nil || got != want || got.String() != text {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "1", "0/4", "5/4", "-1/4", "1/0", "1/4x", "x1/4", "1of4"} {
		if got, err := ParseShard(text); err == nil {
			t.Errorf("%q passes as %v", text, got)
		}
	}
}

// somePoints are crash points of several kinds of writes, in the order of an undisturbed run.
func somePoints() []Crash {
	var writes []string
	for n := range 20 {
		writes = append(writes, "POST /api/v1/namespaces/ns/pods",
			fmt.Sprintf("PATCH /apis/g/v1/namespaces/ns/trainingjobs/low/status Phase%d", n%4))
	}
	return EachCrash(writes)
}

func TestShards(t *testing.T) {
	points := somePoints()
	for _, count := range []int{1, 2, 3, 4, 7} {
		sizes := make([]int, count)
		for _, point := range points {
			owners := 0
			for i := range count {
				if (Shard{i + 1, count}).Has("volcano", "returns", point) {
					owners++
					sizes[i]++
				}
			}
			if owners != 1 {
				t.Errorf("%s is in %d of %d shards", point, owners, count)
			}
		}
		for i, n := range sizes {
			if fair := len(points) / count; n < fair/3 || n > 3*fair {
				t.Errorf("shard %d of %d has %d of %d points", i+1, count, n, len(points))
			}
		}
	}
}

// The split must be the same on every machine and in every version: this is one that was made once.
func TestShardsAreStable(t *testing.T) {
	var got []int
	for n := range 8 {
		for i := range 4 {
			if (Shard{i + 1, 4}).Has("volcano", "returns", Crash{Before, n + 1, "POST pods"}) {
				got = append(got, i+1)
			}
		}
	}
	if diff := cmp.Diff([]int{2, 3, 4, 3, 3, 4, 1, 4}, got); diff != "" {
		t.Errorf("shards of eight points (-want +got):\n%s", diff)
	}
}

func TestProgress(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made", "volcano-1of4.jsonl")
	first := HeldPoint{Cycle: "returns", Point: "before POST pods number 1", Killed: []string{"POST /pods"}}
	second := HeldPoint{Cycle: "returns", Point: "after POST pods number 1"}
	pointOf := map[string]Crash{
		first.Point: {Before, 1, "POST pods"}, second.Point: {After, 1, "POST pods"}, "third": {After, 2,
			"POST pods"},
	}
	p := openProgress(t, path)
	for _, h := range []HeldPoint{first, second} {
		if err := p.Record(h); err != nil {
			t.Fatal(err)
		}
	}
	closeProgress(t, p)

	// A run that is killed while it writes leaves half a line.
	appendTo(t, path, `{"cycle":"returns","point":"after POST`)
	p = openProgress(t, path)
	third := HeldPoint{Cycle: "returns", Point: pointOf["third"].String()}
	if _, ok := p.Held("returns", pointOf["third"]); ok {
		t.Error("half a line counts")
	}
	if err := p.Record(third); err != nil {
		t.Fatal(err)
	}
	closeProgress(t, p)

	p = openProgress(t, path)
	defer closeProgress(t, p)
	for _, want := range []HeldPoint{first, second} {
		got, ok := p.Held("returns", pointOf[want.Point])
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("%s: known is %t (-want +got):\n%s", want.Point, ok, diff)
		}
	}
	if _, ok := p.Held("returns", pointOf["third"]); !ok {
		t.Error("what was recorded behind half a line is lost")
	}
	if _, ok := p.Held("resumes", pointOf[first.Point]); ok {
		t.Error("a point of one cycle counts in another")
	}
	appendTo(t, path, "no JSON\n")
	if _, err := OpenProgress(path); err == nil || !strings.Contains(err.Error(), "jsonl:4") {
		t.Errorf("a broken line: %v", err)
	}
}

func openProgress(t *testing.T, path string) *Progress {
	t.Helper()
	p, err := OpenProgress(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func closeProgress(t *testing.T, p *Progress) {
	t.Helper()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// play the missing points of a run, at most n of them, and return the line at its end.
func play(t *testing.T, folder, shard string, n int) (played int, complete bool, line string) {
	t.Helper()
	plan, err := NewCrashPlan([]string{"fake", "volcano"}, "volcano", shard, folder)
	if err != nil {
		t.Fatal(err)
	}
	c, err := plan.Start("volcano", "returns", somePoints())
	if err != nil {
		t.Fatal(err)
	}
	for _, point := range c.missing[:min(n, len(c.missing))] {
		if err := c.Held(point, []string{"POST /api/v1/namespaces/ns/pods"}); err != nil {
			t.Fatal(err)
		}
		played++
	}
	var out strings.Builder
	complete, err = plan.Finish(&out)
	if err != nil {
		t.Fatal(err)
	}
	return played, complete, out.String()
}

// A run that is cut short is continued with the points that are missing.
func TestCrashPlanContinues(t *testing.T) {
	folder, total := t.TempDir(), 0
	for i := range 4 {
		shard := fmt.Sprintf("%d/4", i+1)
		first, complete, line := play(t, folder, shard, 5)
		if complete || !strings.HasPrefix(line, fmt.Sprintf("crash points of shard %s: 5 played now, 0 had",
			shard)) {
			t.Errorf("cut short: %t, %s", complete, line)
		}
		second, complete, line := play(t, folder, shard, 100)
		want := fmt.Sprintf("crash points of shard %s: %d played now, 5 had been played before, 0 are left\n",
			shard, second)
		if !complete || line != want {
			t.Errorf("continued: %t, %s", complete, line)
		}
		again, complete, _ := play(t, folder, shard, 100)
		if again != 0 || !complete {
			t.Errorf("the third run of a shard plays %d points; complete is %t", again, complete)
		}
		total += first + second
	}
	if want := len(somePoints()); total != want {
		t.Errorf("the shards have played %d of %d points", total, want)
	}
	if n, _, _ := play(t, filepath.Join(folder, "another tree"), "1/1", 100); n != len(somePoints()) {
		t.Errorf("in another folder %d points are played", n)
	}
}

func TestCrashPlanSelectsSchedulers(t *testing.T) {
	if _, err := NewCrashPlan([]string{"fake"}, "fake,volcan", "1/1", ""); err == nil {
		t.Error("an unknown scheduler passes")
	}
	plan, err := NewCrashPlan([]string{"fake", "volcano"}, "fake", "1/1", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if !plan.Includes("fake+EvictsPart") || plan.Includes("volcano") {
		t.Error("Includes errs")
	}
	if complete, _ := plan.Finish(&strings.Builder{}); complete {
		t.Error("a run that played nothing is complete")
	}
}

func TestProblems(t *testing.T) {
	const create = "POST /api/v1/namespaces/ns/pods"
	points := EachCrash([]string{create, create, create})
	all := func(Crash) bool { return true }
	cases := map[string]struct {
		shard    string
		held     func(Crash) bool
		killed   func(Crash) bool
		required []string
		want     []string
	}{
		"everything held": {held: all, killed: all, required: []string{"POST pods"}},
		"one is left": {
			held: func(c Crash) bool { return c != points[1] }, killed: all, want: []string{"1 of 6 points are left"},
		},
		"most were not reached": {
			held: all, killed: func(c Crash) bool { return c.Write == 1 }, want: []string{"4 of 6 points " +
				"were not reached"},
		},
		"a kind was missed": {
			held: all, killed: all, required: []string{"DELETE pods"},
			want: []string{"no operator was killed before: DELETE pods", "no operator was killed after: DELETE pods"},
		},
		"a kind that is in another shard": {shard: "1/2", held: all, killed: all,
			required: []string{"DELETE pods"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			shard := tc.shard
			if shard == "" {
				shard = "1/1"
			}
			plan, err := NewCrashPlan([]string{"fake"}, "fake", shard, "")
			if err != nil {
				t.Fatal(err)
			}
			c, err := plan.Start("fake", "returns", points)
			if err != nil {
				t.Fatal(err)
			}
			for _, point := range c.points {
				var killed []string
				if tc.killed(point) {
					killed = []string{create}
				}
				if tc.held(point) {
					if err := c.Held(point, killed); err != nil {
						t.Fatal(err)
					}
				}
			}
			if diff := cmp.Diff(tc.want, c.Problems(tc.required)); diff != "" {
				t.Errorf("-want +got:\n%s\n%s", diff, c)
			}
		})
	}
}
