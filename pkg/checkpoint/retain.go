package checkpoint

import (
	"path"
	"slices"
	"time"
)

// Keep says what Retain must not name.
type Keep struct {
	// Last is how many complete saves to keep. Below 1, nothing may be deleted.
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
	// Settled are the paths of the saves that have been whole and unchanged for long enough: only they
	// count towards Last, so that nothing is deleted for a save that may still change. It counts only if
	// MustSettle.
	Settled    []string
	MustSettle bool
	// Committed are the paths that the caller saw become complete last. It needs no clock for that.
	Committed []string
}

// Retain names the saves that may be deleted, oldest first: those older than the Last-th complete one that
// are complete, or that an earlier attempt left torn. A save is deleted with all of its Roots. Retain
// considers only removable layouts (see LayoutRules), and never a save that contains, or is contained in,
// another one or Pinned.
//
// While a save at or above the Last-th complete one lacks a part, Retain names nothing: the older saves show
// which part that is.
//
// The step decides what is old. Retain keeps saves without a known step and the last committed one, because a
// program can restart its steps or change how it names its checkpoints.
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
	if keep.MustSettle {
		complete = slices.DeleteFunc(complete, func(f Found) bool { return !slices.Contains(keep.Settled, f.Path) })
	}
	if len(complete) < keep.Last {
		return nil
	}
	before := complete[keep.Last-1].Step
	if keep.MustConfirm {
		if keep.Confirmed == nil {
			return nil
		}
		before = min(before, *keep.Confirmed)
	}
	if slices.ContainsFunc(sorted, func(f Found) bool { return f.MissingPart && f.Step >= before }) {
		return nil
	}
	last, nested := committedLast(sorted), nestedPaths(sorted)
	var out []Found
	for _, f := range slices.Backward(sorted) {
		old := f.Step >= 0 && f.Step < before
		abandoned := f.State == Torn && f.Attempt > 0 && f.Attempt < keep.Attempt
		if old && !f.WrongJob && f.Removable() && (f.State == Complete || abandoned) &&
			f.Path != "." && !overlap(&f, keep.Pinned) && !nested[f.Path] &&
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

// nestedPaths are the paths of the saves that contain, or are contained in, another one.
func nestedPaths(found []Found) map[string]bool {
	owners := map[string]string{}
	for _, f := range found {
		for _, root := range f.Roots() {
			owners[root] = f.Path
		}
	}
	nested := map[string]bool{}
	for p, owner := range owners {
		for above := p; above != "."; {
			above = path.Dir(above)
			if other, ok := owners[above]; ok {
				nested[other], nested[owner] = true, true
			}
		}
	}
	return nested
}

// overlap reports whether a path lies in a save, or contains a part of it.
func overlap(f *Found, p string) bool {
	return p != "" && slices.ContainsFunc(f.Roots(), func(root string) bool {
		return within(root, p) || within(p, root)
	})
}

func within(p, dir string) bool {
	return p == dir || dir == "." || len(p) > len(dir) && p[:len(dir)] == dir && p[len(dir)] == '/'
}
