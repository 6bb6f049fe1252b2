package checkpoint

import (
	"io/fs"
	"slices"
)

// Resolve chooses the newest complete checkpoint of all attempts below dir that Options.Selection allows. It
// ignores the others. With Options.Sums it reads only the chosen checkpoint's bytes: if a sum is wrong, it
// chooses again without that checkpoint.
func Resolve(fsys fs.FS, dir string, opts Options, pinned *Point) (Choice, error) {
	sums := opts.Sums
	opts.Sums = false
	found, err := Scan(fsys, dir, opts)
	if err != nil {
		return Choice{}, err
	}
	found = slices.DeleteFunc(found, func(f Found) bool { return !opts.Selection.Allows(&f) })
	for {
		c := Choose(found, pinned)
		if c.Found == nil || !sums {
			return c, nil
		}
		s := &scanner{fsys: fsys, opts: Options{JobUID: opts.JobUID, Sums: true}}
		if err := s.checkSums(c.Found); err == nil {
			return c, nil
		} else {
			c.Found.setState(err) // c.Found points into found, so the next choice passes over it
		}
	}
}

// checkSums checks every part of a save that has a manifest again, with its sums.
func (s *scanner) checkSums(f *Found) error {
	parts := f.Parts
	if len(parts) == 0 {
		parts = []Part{{Path: f.Path, Layout: f.Layout}}
	}
	for _, p := range parts {
		if p.Layout != LayoutManifest {
			continue
		}
		d, err := s.list(p.Path)
		if err == nil {
			err = s.checkManifest(d, &Found{Path: p.Path})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
