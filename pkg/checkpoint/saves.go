package checkpoint

import (
	"cmp"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Part is one recognized directory or file of a save.
type Part struct {
	Path   string
	Layout Layout
	// Root is what has to be deleted to delete the part: the directory that carries the step, or the part
	// itself.
	Root string
}

// Roots returns the paths that together contain all of a save. None contains another.
func (f *Found) Roots() []string {
	if len(f.Parts) == 0 {
		return []string{f.Path}
	}
	roots := make([]string, 0, len(f.Parts))
	for _, p := range f.Parts {
		roots = append(roots, p.Root)
	}
	slices.Sort(roots)
	return slices.Compact(roots)
}

// joinSaves joins the parts that a scan found to saves. A save consists of the parts below one directory that
// carries a step, and of their siblings: parts of the same step and attempt under other names.
func joinSaves(parts []Found) []Found {
	slices.SortFunc(parts, func(a, b Found) int { return cmp.Compare(a.Path, b.Path) })
	type stepKey struct {
		attempt int32
		step    int64
	}
	var alone []Found
	siblings := map[stepKey][]Found{}
	for _, f := range joinCarried(parts) {
		if f.Step < 0 || f.WrongJob || standsAlone(&f) {
			alone = append(alone, f)
			continue
		}
		at := stepKey{f.Attempt, f.Step}
		siblings[at] = append(siblings[at], f)
	}
	saves := make([]Found, 0, len(siblings))
	for _, some := range siblings {
		saves = append(saves, combine(some, some[0].Path, some[0].Step))
	}
	markMissing(saves)
	return append(saves, alone...)
}

// joinCarried joins the parts below each directory that carries a step.
func joinCarried(parts []Found) []Found {
	var out []Found
	carried := map[string][]Found{}
	steps := map[string]int64{}
	for _, f := range parts {
		dir, step := carrierOf(&f)
		if dir == "" || f.WrongJob {
			out = append(out, f)
			continue
		}
		carried[dir], steps[dir] = append(carried[dir], f), step
	}
	for _, dir := range slices.Sorted(maps.Keys(carried)) {
		some := carried[dir]
		if f := some[0]; len(some) == 1 && f.Step == steps[dir] { // its own name carries the step
			f.Parts = []Part{{f.Path, f.Layout, f.Path}}
			out = append(out, f)
			continue
		}
		for i := range some {
			some[i].Parts = []Part{{some[i].Path, some[i].Layout, dir}}
		}
		out = append(out, combine(some, dir, steps[dir]))
	}
	slices.SortFunc(out, func(a, b Found) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// carrierOf returns the directory above a part that carries the part's step, and that step. The directory is
// empty if there is none. A number alone, lower than the step of a named directory above it, numbers a part.
func carrierOf(f *Found) (dir string, step int64) {
	step = f.Step
	isNumber := f.Layout != LayoutManifest && onlyNumber.MatchString(path.Base(f.Path))
	for p := path.Dir(f.Path); p != "." && !attemptDir.MatchString(path.Base(p)); p = path.Dir(p) {
		name := path.Base(p)
		above := stepOf(name)
		numbersPart := isNumber && dir == "" && above > step && !onlyNumber.MatchString(name)
		if above >= 0 && (above == step || step < 0 || numbersPart) {
			dir, step = p, above
		}
	}
	return dir, step
}

// standsAlone reports whether a save has no siblings. Lightning puts all state into one .ckpt, next to
// copies of it, unless a directory of the step contains it; torch.save files have no order to judge; a
// temporary directory is a copy that its writer did not rename; and programs copy good saves to a place whose
// name has the word best, which other saves do not have.
func standsAlone(f *Found) bool {
	name := path.Base(f.Path)
	if strings.HasSuffix(name, ".ckpt") {
		carrier, _ := carrierOf(&Found{Path: f.Path, Step: f.Step})
		return carrier == ""
	}
	return f.Layout == LayoutTorchSave || bestCopy.MatchString(f.Path) ||
		strings.HasPrefix(name, "tmp-") || strings.Contains(name, ".tmp")
}

var bestCopy = regexp.MustCompile(`(?i)(^|[^a-z])best([^a-z]|$)`)

// combine returns the save that consists of some parts or saves. It is Torn if one of them is.
func combine(some []Found, at string, step int64) Found {
	if len(some) == 1 && some[0].Path == at {
		return some[0]
	}
	out := Found{Path: at, Step: step, Attempt: some[0].Attempt, State: Complete}
	base := commonDir(some)
	isTorch := func(f Found) bool { return f.Layout == LayoutTorchSave }
	onlyTorch := !slices.ContainsFunc(some, func(f Found) bool { return !isTorch(f) })
	for _, f := range some {
		if out.Layout == "" || out.Layout == LayoutTorchSave {
			out.Layout = f.Layout
		}
		out.Bytes, out.CommittedAt = out.Bytes+f.Bytes, later(out.CommittedAt, f.CommittedAt)
		if len(f.Parts) == 0 {
			f.Parts = []Part{{f.Path, f.Layout, f.Path}}
		}
		out.Parts, out.files = append(out.Parts, f.Parts...), append(out.files, f.files...)
		// A whole torch.save file tells nothing about a save whose other parts say what they consist of.
		skip := isTorch(f) && f.State == Unknown && !onlyTorch
		if f.State == Complete || skip || out.State == Torn || out.State == f.State {
			continue
		}
		name := strings.TrimPrefix(strings.TrimPrefix(f.Path, base), "/")
		out.State, out.Why = f.State, Printable(name+": "+f.Why, 256)
	}
	return out
}

// commonDir returns the nearest directory that contains all paths, empty for the root of the scan.
func commonDir(some []Found) string {
	dir := path.Dir(some[0].Path)
	for _, f := range some[1:] {
		for !within(f.Path, dir) {
			dir = path.Dir(dir)
		}
	}
	return strings.TrimPrefix(dir, ".")
}

var (
	digits      = regexp.MustCompile(`[0-9]+`)
	epochNumber = regexp.MustCompile(`(?i)(epoch[=_-]?)[0-9]+`)
)

// roleOf returns what a part is in every save of its program: its path below the attempt's directory without
// the step and the epoch.
func roleOf(p string, step int64) string {
	names := strings.Split(p, "/")
	for i, name := range names {
		if attemptDir.MatchString(name) {
			names = names[i+1:]
			break
		}
	}
	for i, name := range names {
		name = epochNumber.ReplaceAllString(name, "${1}#")
		if stepOf(names[i]) == step {
			name = digits.ReplaceAllStringFunc(name, func(n string) string {
				if number(n) == step {
					return "#"
				}
				return n
			})
		}
		names[i] = name
	}
	return strings.Join(names, "/")
}

// rolesOf returns the roles of all parts of a save, except those of torch.save files, whose number may
// change.
func rolesOf(f *Found) map[string]bool {
	roles := map[string]bool{}
	for _, p := range f.files {
		roles[roleOf(p, f.Step)] = true
	}
	if len(f.Parts) == 0 {
		roles[roleOf(f.Path, f.Step)] = true
	}
	for _, p := range f.Parts {
		if p.Layout != LayoutTorchSave {
			roles[roleOf(p.Path, f.Step)] = true
		}
	}
	return roles
}
