package checkpoint

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func found(text string) Found {
	var f Found
	var state string
	if _, err := fmt.Sscanf(text, "%d/%d %s", &f.Attempt, &f.Step, &state); err != nil {
		panic(err)
	}
	f.State, f.Layout = State(state), LayoutManifest
	f.Path = fmt.Sprintf("%s/step-%d", AttemptDir(f.Attempt), f.Step)
	return f
}

func foundAll(texts ...string) []Found {
	var out []Found
	for _, t := range texts {
		out = append(out, found(t))
	}
	return out
}

func TestChoose(t *testing.T) {
	tests := map[string]struct {
		reason string
		found  []Found
		pinned *Point
		want   string
		passed int
		lost   bool
	}{
		"nothing": {"a fresh start", nil, nil, "", 0, false},
		"newest": {
			"by step", foundAll("1/100 Complete", "1/300 Complete", "1/200 Complete"), nil,
			"attempt-1/step-300", 0, false,
		},
		"torn": {
			"the one before it", foundAll("1/100 Complete", "1/200 Torn", "1/300 Unknown"), nil,
			"attempt-1/step-100", 2, false,
		},
		"over attempts": {
			"an older attempt may have come further", foundAll("1/300 Complete", "2/200 Complete"), nil,
			"attempt-1/step-300", 0, false,
		},
		"same step": {
			"the later attempt's writer may be alive", foundAll("1/300 Complete", "2/300 Complete"), nil,
			"attempt-2/step-300", 0, false,
		},
		"forward": {
			"at or beyond the pinned one", foundAll("1/300 Complete", "2/400 Complete"), &Point{Step: 300},
			"attempt-2/step-400", 0, false,
		},
		"stays": {
			"nothing newer", foundAll("1/300 Complete", "2/400 Torn"), &Point{Step: 300},
			"attempt-1/step-300", 1, false,
		},
		"lost": {
			"an older point is taken only as Lost", foundAll("1/200 Complete", "1/300 Torn"), &Point{Step: 300},
			"attempt-1/step-200", 1, true,
		},
		"lost, and none": {"a fresh start is Lost too", foundAll("1/300 Torn"), &Point{Step: 300}, "", 1, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := Choose(tc.found, tc.pinned)
			got := ""
			if c.Point != nil {
				got = c.Point.Path
			}
			if got != tc.want || len(c.PassedOver) != tc.passed || c.Lost != tc.lost {
				t.Errorf("%s: got %+v", tc.reason, c)
			}
		})
	}
}

// The older checkpoint has the later modification time, as after a clock that jumped back.
func TestModificationTimesAreIgnored(t *testing.T) {
	fsys := fstest.MapFS{}
	for name, file := range manifestOf(100, tree{"a": weights}).under("attempt-1/step-100").fs() {
		file.ModTime = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
		fsys[name] = file
	}
	for name, file := range manifestOf(200, tree{"a": weights}).under("attempt-1/step-200").fs() {
		file.ModTime = time.Date(1971, 1, 1, 0, 0, 0, 0, time.UTC)
		fsys[name] = file
	}
	c, err := Resolve(fsys, ".", Options{Sums: true}, nil)
	if err != nil || c.Point == nil || c.Point.Step != 200 {
		t.Errorf("got %+v, %v", c, err)
	}
}

// The newest checkpoint has wrong bytes of the right length, so the one before it is chosen. The third, wrong
// as well, is not read.
func TestResolveReadsTheCandidate(t *testing.T) {
	newest := manifestOf(300, tree{"a": weights}).with("a", []byte(strings.Repeat("x", len(weights))))
	third := manifestOf(100, tree{"a": weights}).with("a", []byte(strings.Repeat("x", len(weights))))
	files := newest.under("attempt-2/s300").and(
		manifestOf(200, tree{"a": weights}).under("attempt-1/s200"), third.under("attempt-1/s100"),
	)
	c, err := Resolve(files.fs(), ".", Options{Sums: true}, nil)
	if err != nil || c.Point == nil || c.Point.Step != 200 || len(c.PassedOver) != 1 ||
		!strings.Contains(c.PassedOver[0].Why, "SHA-256") {
		t.Errorf("got %+v, %v", c, err)
	}
	if c, _ := Resolve(files.fs(), ".", Options{}, nil); c.Point.Step != 300 {
		t.Errorf("without sums: %+v", c)
	}
}

func paths(fs []Found) []string {
	out := []string{}
	for _, f := range fs {
		out = append(out, f.Path)
	}
	return out
}

func TestRetain(t *testing.T) {
	other := foundAll("1/10 Complete")
	other[0].WrongJob = true
	lightning := foundAll("1/10 Complete")
	lightning[0].Layout = LayoutLightning
	five := foundAll("1/10 Complete", "1/20 Complete", "1/30 Complete", "2/40 Complete", "2/50 Complete")
	tests := map[string]struct {
		reason string
		found  []Found
		keep   Keep
		want   []string
	}{
		"not asked": {"nothing", five, Keep{}, []string{}},
		"last two": {
			"the rest, oldest first", five, Keep{Last: 2},
			[]string{"attempt-1/step-10", "attempt-1/step-20", "attempt-1/step-30"},
		},
		"pinned": {
			"never the resume point", five, Keep{Last: 1, Pinned: "attempt-1/step-20"},
			[]string{"attempt-1/step-10", "attempt-1/step-30", "attempt-2/step-40"},
		},
		"inside": {
			"nor what contains it", five, Keep{Last: 1, Pinned: "attempt-1/step-20/model"},
			[]string{"attempt-1/step-10", "attempt-1/step-30", "attempt-2/step-40"},
		},
		"few": {"nothing to spare", five, Keep{Last: 9}, []string{}},
		"torn does not count": {
			"a torn one does not count as kept", foundAll("1/10 Complete", "1/20 Complete", "1/30 Torn"),
			Keep{Last: 2, Attempt: 2}, []string{},
		},
		"left behind": {
			"torn by an old attempt, but as new as those kept",
			foundAll("1/10 Torn", "1/20 Complete", "2/30 Complete"),
			Keep{Last: 2, Attempt: 2}, []string{},
		},
		"left behind, older": {
			"it has no writer, and is older than those kept",
			foundAll("1/10 Torn", "1/20 Complete", "2/30 Complete", "2/40 Complete"),
			Keep{Last: 2, Attempt: 2}, []string{"attempt-1/step-10", "attempt-1/step-20"},
		},
		"being written": {
			"a torn checkpoint of this attempt may still be written",
			foundAll("2/10 Torn", "2/20 Complete", "2/30 Complete", "2/40 Complete"),
			Keep{Last: 1, Attempt: 2}, []string{"attempt-2/step-20", "attempt-2/step-30"},
		},
		"unknown": {
			"what is Unknown stays", foundAll("1/10 Unknown", "1/20 Complete", "2/30 Complete"),
			Keep{Last: 1, Attempt: 2}, []string{"attempt-1/step-20"},
		},
		"another job's": {
			"not ours", append(other, foundAll("1/20 Complete", "1/30 Complete")...), Keep{Last: 2},
			[]string{},
		},
		"the framework's": {
			"its own callback deletes them",
			append(lightning, foundAll("1/20 Complete", "1/30 Complete")...), Keep{Last: 2}, []string{},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, paths(Retain(tc.found, tc.keep))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// On random histories, Retain never names what it must not, and deleting what it names does not change the
// choice.
func TestRetainKeepsItsInvariants(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 7))
		seen := map[string]bool{}
		var all []Found
		for range r.IntN(14) {
			state := []State{Complete, Complete, Torn, Unknown}[r.IntN(4)]
			f := found(fmt.Sprintf("%d/%d %s", 1+r.IntN(3), 10*(1+r.IntN(9)), state))
			f.Layout = LayoutRules[r.IntN(len(LayoutRules))].Layout
			if !seen[f.Path] {
				seen[f.Path] = true
				all = append(all, f)
			}
		}
		keep := Keep{Last: 1 + r.IntN(3), Attempt: 3}
		if len(all) > 0 && r.IntN(2) == 0 {
			keep.Pinned = all[r.IntN(len(all))].Path
		}
		gone := Retain(all, keep)
		var complete []Found
		for _, f := range all {
			if f.State == Complete {
				complete = append(complete, f)
			}
		}
		slices.SortFunc(complete, newestFirst)
		for _, f := range gone {
			switch {
			case f.Path == keep.Pinned, f.State == Unknown, !removable(f.Layout),
				len(complete) < keep.Last, f.Step >= complete[keep.Last-1].Step, f.State == Torn && f.Attempt == 3:
				t.Fatalf("seed %d, %+v: deletes %+v of %v", seed, keep, f, all)
			}
		}
		isGone := func(f Found) bool { return slices.Contains(paths(gone), f.Path) }
		left := slices.DeleteFunc(slices.Clone(all), isGone)
		if before, after := Choose(all, nil).Point, Choose(left, nil).Point; !cmp.Equal(before, after) {
			t.Fatalf("seed %d: the resume point was %+v and is %+v", seed, before, after)
		}
	}
}
