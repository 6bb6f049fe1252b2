package checkpoint

import "io/fs"

// Resolve finds the newest complete checkpoint below dir, over all attempts. It reads bytes only of the candidate: when its sums
// are wrong, the one before it is the candidate.
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
		l := &look{fsys: fsys, opts: Options{JobUID: opts.JobUID, Sums: true}}
		d, err := l.list(c.Found.Path)
		if err == nil {
			err = l.checkManifest(d, c.Found)
		}
		if err == nil {
			return c, nil
		}
		c.Found.judge(err) // points into found: the next choice passes over it
	}
}
