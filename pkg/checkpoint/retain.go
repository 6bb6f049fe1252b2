package checkpoint

import (
	"path"
	"slices"
	"time"
)

// Keep says what Retain must not name.
type Keep struct {
	// Last is how many complete checkpoints to keep. Below 1, nothing may be deleted.
	Last int
	// Pinned is the path of the resume point; empty if there is none.
	Pinned string
	// Attempt that is running. Torn checkpoints of earlier attempts have lost their writer; those outside of
	// any attempt's directory may still have one.
	Attempt int32
	// Confirmed is the step of the newest commit that the operator has acknowledged to the attempt that runs:
	// nothing as new is named. nil: none has been. It counts only if MustConfirm.
	Confirmed   *int64
	MustConfirm bool
	// Committed are the paths that the caller saw become complete last. It needs no clock for that.
	Committed []string
}

// Retain names the checkpoints that may be deleted, oldest first: those older than the Last-th complete one
// that are complete, or that an earlier attempt left torn. It considers only removable layouts (see
// LayoutRules), and never a checkpoint that contains, or is contained in, another one or Pinned.
//
// The step decides what is old. Whatever the steps say, what cannot be ordered by them stays, and so does
// what was committed last: a program may begin its steps anew, or change how it names its checkpoints.
func Retain(found []Found, keep Keep) []Found {
	if keep.Last < 1 {
		return nil
	}
	sorted := slices.Clone(found)
	slices.SortFunc(sorted, newestFirst)
	complete := slices.DeleteFunc(slices.Clone(sorted), func(f Found) bool { return f.State != Complete })
	if len(complete) <= keep.Last {
		return nil
	}
	before := complete[keep.Last-1].Step
	if keep.MustConfirm {
		if keep.Confirmed == nil {
			return nil
		}
		before = min(before, *keep.Confirmed)
	}
	last, nested := committedLast(sorted), nestedPaths(sorted)
	var out []Found
	for _, f := range slices.Backward(sorted) {
		old := f.Step >= 0 && f.Step < before
		abandoned := f.State == Torn && f.Attempt > 0 && f.Attempt < keep.Attempt
		if old && !f.WrongJob && removable(f.Layout) && (f.State == Complete || abandoned) &&
			f.Path != "." && !overlap(f.Path, keep.Pinned) && !nested[f.Path] &&
			!last[f.Path] && !slices.Contains(keep.Committed, f.Path) {
			out = append(out, f)
		}
	}
	return out
}

// committedLast are the paths of what was committed last, by any attempt and by the latest one: the clocks of
// two nodes may differ by more than lies between their commits.
func committedLast(found []Found) map[string]bool {
	whole := slices.DeleteFunc(slices.Clone(found), func(f Found) bool {
		return f.State != Complete && !f.Unordered || f.CommittedAt.IsZero()
	})
	var at, ofLatest time.Time
	attempt := int32(0)
	for _, f := range whole {
		at = later(at, f.CommittedAt)
		if f.Attempt > attempt {
			attempt, ofLatest = f.Attempt, time.Time{}
		}
		if f.Attempt == attempt {
			ofLatest = later(ofLatest, f.CommittedAt)
		}
	}
	last := map[string]bool{}
	for _, f := range whole {
		if f.CommittedAt.Equal(at) || f.Attempt == attempt && f.CommittedAt.Equal(ofLatest) {
			last[f.Path] = true
		}
	}
	return last
}

// nestedPaths are the paths of checkpoints that contain, or are contained in, another one.
func nestedPaths(found []Found) map[string]bool {
	paths := map[string]bool{}
	for _, f := range found {
		paths[f.Path] = true
	}
	nested := map[string]bool{}
	for p := range paths {
		for above := p; above != "."; {
			if above = path.Dir(above); paths[above] {
				nested[above], nested[p] = true, true
			}
		}
	}
	return nested
}

func overlap(a, b string) bool { return b != "" && (within(a, b) || within(b, a)) }

func within(p, dir string) bool {
	return p == dir || dir == "." || len(p) > len(dir) && p[:len(dir)] == dir && p[len(dir)] == '/'
}
