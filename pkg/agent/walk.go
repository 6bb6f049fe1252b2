package agent

import (
	"errors"
	"io"
	"io/fs"
	"path"
)

const (
	// maxWalkEntries bounds a walk over a volume. checkpoint.Scan reports a volume with more as a problem.
	maxWalkEntries = 200_000
	maxWalkDepth   = 16
)

// walkVolume visits what lies below a directory, in no order. It reads directories in portions: one with
// millions of entries must not be in the memory of the trainer's container. visit returns fs.SkipDir for a
// directory not to be entered. What is deleted meanwhile is left out; a missing dir is an error.
func walkVolume(fsys fs.FS, dir string, visit func(path string, e fs.DirEntry) error) error {
	w := &walk{fsys: fsys, visit: visit}
	return w.directory(dir, 0)
}

type walk struct {
	fsys  fs.FS
	visit func(string, fs.DirEntry) error
	seen  int
}

func (w *walk) directory(dir string, depth int) error {
	f, err := w.fsys.Open(dir)
	if errors.Is(err, fs.ErrNotExist) && depth > 0 {
		return nil
	} else if err != nil {
		return err
	}
	below, err := w.entries(f, dir)
	f.Close()
	if err != nil || depth == maxWalkDepth {
		return err
	}
	for _, name := range below {
		if err := w.directory(path.Join(dir, name), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// entries visits the entries of one directory, and returns those to be entered.
func (w *walk) entries(f fs.File, dir string) (below []string, err error) {
	in, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, &fs.PathError{Op: "readdir", Path: dir, Err: errors.ErrUnsupported}
	}
	for {
		some, err := in.ReadDir(256)
		for _, e := range some {
			if w.seen++; w.seen > maxWalkEntries {
				return nil, nil
			}
			if !fs.ValidPath(e.Name()) {
				continue // not UTF-8: package fs cannot name it
			}
			err := w.visit(path.Join(dir, e.Name()), e)
			if err != nil && !errors.Is(err, fs.SkipDir) {
				return nil, err
			}
			if err == nil && e.IsDir() {
				below = append(below, e.Name())
			}
		}
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, fs.ErrNotExist):
			return below, nil
		case err != nil:
			return nil, err
		}
	}
}
