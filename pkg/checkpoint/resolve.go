package checkpoint

import "io/fs"

// Resolve chooses the newest complete checkpoint of all attempts below dir. With Options.Sums it reads only
// the chosen checkpoint's bytes: if a sum is wrong, it chooses again without that checkpoint.
func Resolve(fsys fs.FS, dir string, opts Options, pinned *Point) (Choice, error) {
	sums := opts.Sums
	opts.Sums = false
	found, err := Scan(fsys, dir, opts)
	if err != nil {
		return Choice{}, err
	}
	for {
		c := Choose(found, pinned)
		if c.Found == nil || !sums || c.Found.Layout != LayoutManifest {
			return c, nil
		}
		s := &scanner{fsys: fsys, opts: Options{JobUID: opts.JobUID, Sums: true}}
		d, err := s.list(c.Found.Path)
		if err == nil {
			err = s.checkManifest(d, c.Found)
		}
		if err == nil {
			return c, nil
		}
		c.Found.setState(err) // c.Found points into found, so the next choice passes over it
	}
}
