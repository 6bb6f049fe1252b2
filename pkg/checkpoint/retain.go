package checkpoint

import "slices"

// Keep says what Retain must not name.
type Keep struct {
	// Last is how many complete checkpoints to keep. Below 1, nothing may be deleted.
	Last int
	// Pinned is the path of the resume point; empty if there is none.
	Pinned string
	// Attempt that is running. Torn checkpoints of earlier attempts have lost their writer; those outside of
	// any attempt's directory may still have one.
	Attempt int32
}

// Retain names the checkpoints that may be deleted, oldest first: those older than the Last-th complete one
// that are complete, or that an earlier attempt left torn. It considers only removable layouts (see
// LayoutRules), and never a checkpoint that contains, or is contained in, another one or Pinned.
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
	limit := complete[keep.Last-1]
	var out []Found
	for _, f := range slices.Backward(sorted) {
		old := f.Step >= 0 && f.Step < limit.Step
		abandoned := f.State == Torn && f.Attempt > 0 && f.Attempt < keep.Attempt
		if old && !f.WrongJob && removable(f.Layout) && (f.State == Complete || abandoned) &&
			f.Path != "." && !overlap(f.Path, keep.Pinned) && !overlapsAny(f, sorted) {
			out = append(out, f)
		}
	}
	return out
}

// overlapsAny reports whether f contains, or is contained in, another checkpoint.
func overlapsAny(f Found, all []Found) bool {
	return slices.ContainsFunc(all, func(g Found) bool { return g.Path != f.Path && overlap(f.Path, g.Path) })
}

func overlap(a, b string) bool { return b != "" && (within(a, b) || within(b, a)) }

func within(p, dir string) bool {
	return p == dir || dir == "." || len(p) > len(dir) && p[:len(dir)] == dir && p[len(dir)] == '/'
}
