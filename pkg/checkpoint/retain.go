package checkpoint

import "slices"

// Keep is what retention must know besides what is there.
type Keep struct {
	// Last complete checkpoints to keep; at least 1. With 0 or less nothing is deleted.
	Last int
	// Pinned is the path of the point that the gang resumes from; empty: none.
	Pinned string
	// Attempt that runs. What an earlier one left unfinished has no writer any more; what lies in no attempt's directory may
	// have one.
	Attempt int32
}

// Retain names what may be deleted, oldest first: complete checkpoints older than the Last-th complete one, and torn ones as
// old that an earlier attempt left behind. Only layouts that are removable, see Rules. Never Pinned, nor anything that holds
// it or lies in it; never the newest complete one; never anything as new as the Last-th; never what may still be written.
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
		left := f.State == Torn && f.Attempt > 0 && f.Attempt < keep.Attempt
		if old && !f.WrongJob && removable(f.Layout) && (f.State == Complete || left) &&
			f.Path != "." && !overlap(f.Path, keep.Pinned) && !overlapsAny(f, sorted) {
			out = append(out, f)
		}
	}
	return out
}

// overlapsAny: a checkpoint that contains another one is left alone.
func overlapsAny(f Found, all []Found) bool {
	return slices.ContainsFunc(all, func(g Found) bool { return g.Path != f.Path && overlap(f.Path, g.Path) })
}

func overlap(a, b string) bool { return b != "" && (within(a, b) || within(b, a)) }

func within(p, dir string) bool {
	return p == dir || dir == "." || len(p) > len(dir) && p[:len(dir)] == dir && p[len(dir)] == '/'
}
