package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"time"
)

// Bounds of one Scan. A volume beyond them is an error; it is never half read.
const (
	maxDepth   = 6
	maxEntries = 200_000
	// maxFound bounds the result, which goes from one process to another.
	maxFound = 10_000
)

// Options of a Scan.
type Options struct {
	// JobUID of the job, if known. A checkpoint whose manifest names another job is not this job's.
	JobUID string
	// Sums also compares the SHA-256 of files whose manifest has one. It reads all of their bytes.
	Sums bool
	// Selection of the saves that Resolve may choose. Scan lists all.
	Selection Selection
}

// scanner reads the tree of one Scan within its bounds.
type scanner struct {
	fsys    fs.FS
	opts    Options
	entries int
	found   int
}

// listing is the content of one directory: its regular files with their sizes, and its subdirectories,
// sorted.
type listing struct {
	path  string
	dirs  []string
	files []string
	sizes map[string]int64
	// newest is when one of the files was last written.
	newest time.Time
}

func (d *listing) has(file string) bool { _, ok := d.sizes[file]; return ok }
func (d *listing) hasDir(name string) bool {
	_, ok := slices.BinarySearch(d.dirs, name)
	return ok
}
func (d *listing) at(name string) string { return path.Join(d.path, name) }

var (
	errTooMany = errors.New("more than " + strconv.Itoa(maxEntries) +
		" files: give checkpoints a directory of their own")
	errTooManyFound = errors.New("more than " + strconv.Itoa(maxFound) +
		" checkpoints: keep fewer (spec.checkpoint.keepLast, or the framework's own setting)")
)

func (s *scanner) list(dir string) (*listing, error) {
	d := &listing{path: dir, sizes: map[string]int64{}}
	if err := s.eachEntry(dir, d.add); err != nil {
		return nil, err
	}
	slices.Sort(d.dirs)
	slices.Sort(d.files)
	return d, nil
}

// eachEntry reads a directory in portions, so that a huge one is noticed before it is in memory.
func (s *scanner) eachEntry(dir string, each func(fs.DirEntry) error) error {
	f, err := s.fsys.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	in, ok := f.(fs.ReadDirFile)
	if !ok {
		return fmt.Errorf("reading %s: it is no directory", dir)
	}
	for {
		entries, err := in.ReadDir(1024)
		if s.entries += len(entries); s.entries > maxEntries {
			return errTooMany
		}
		for _, e := range entries {
			if err := each(e); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// add takes an entry of the directory. Whatever is neither a directory nor a regular file is left out, and so
// is a name that is not UTF-8, which package fs cannot open.
func (d *listing) add(e fs.DirEntry) error {
	switch {
	case !fs.ValidPath(e.Name()):
	case e.IsDir():
		d.dirs = append(d.dirs, e.Name())
	case e.Type().IsRegular():
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // renamed or deleted since the directory was read
		} else if err != nil {
			return err
		}
		d.files, d.sizes[e.Name()] = append(d.files, e.Name()), info.Size()
		d.newest = later(d.newest, info.ModTime())
	}
	return nil
}

// total is the size of some files together, and when the last of them was written.
type total struct {
	bytes  int64
	newest time.Time
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// total of all files at or below a path; zero if it does not exist.
func (s *scanner) total(p string, depth int) (total, error) {
	info, err := fs.Stat(s.fsys, p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return total{}, nil
	case err != nil:
		return total{}, err
	case !info.IsDir():
		return total{info.Size(), info.ModTime()}, nil
	}
	d, err := s.list(p)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return total{}, err
	}
	sum := total{newest: d.newest}
	for _, n := range d.sizes {
		sum.bytes += n
	}
	for _, name := range d.dirs {
		if depth == maxDepth {
			break
		}
		below, err := s.total(d.at(name), depth+1)
		if err != nil {
			return total{}, err
		}
		sum.bytes, sum.newest = sum.bytes+below.bytes, later(sum.newest, below.newest)
	}
	return sum, nil
}

// open opens a regular file. Anything else is not even opened: a pipe would block, a device might act.
func (s *scanner) open(p string) (fs.File, int64, error) {
	info, err := fs.Stat(s.fsys, p)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, torn("%s is no file", path.Base(p))
	}
	f, err := s.fsys.Open(p)
	if err != nil {
		return nil, 0, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = torn("%s is no file", path.Base(p))
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// read returns the content of a small file. A file of more than limit bytes is Unknown.
func (s *scanner) read(p string, limit int64) ([]byte, error) {
	f, _, err := s.open(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = unknown("%s has more than %d bytes", path.Base(p), limit)
	}
	return data, err
}

// openAt opens a file for reads at offsets, and returns its size and how to close it.
func (s *scanner) openAt(p string) (io.ReaderAt, int64, func() error, error) {
	f, size, err := s.open(p)
	if err != nil {
		return nil, 0, nil, err
	}
	at, ok := f.(io.ReaderAt)
	if !ok {
		f.Close()
		return nil, 0, nil, unknown("%s cannot be read at an offset here", path.Base(p))
	}
	return at, size, f.Close, nil
}

// checkFormat runs one of the checks of format_*.go on a file. A missing or empty file is torn.
func (s *scanner) checkFormat(p string, check func(io.ReaderAt, int64) error) error {
	r, size, done, err := s.openAt(p)
	if errors.Is(err, fs.ErrNotExist) {
		return torn("%s is missing", path.Base(p))
	} else if err != nil {
		return err
	}
	defer done()
	if size == 0 {
		return torn("%s is empty", path.Base(p))
	}
	if err := check(r, size); err != nil {
		if incomplete, ok := errors.AsType[*incompleteError](err); ok {
			return &incompleteError{incomplete.state, path.Base(p) + " " + incomplete.why}
		}
		return err
	}
	return nil
}

// readJSON reads a JSON file. One that ends early is torn.
func (s *scanner) readJSON(p string, read func(io.Reader) error) error {
	f, size, err := s.open(p)
	if err != nil {
		return err
	}
	defer f.Close()
	if size > maxJSON {
		return unknown("%s has more than %d bytes", path.Base(p), maxJSON)
	}
	var incomplete *incompleteError
	switch err := read(io.LimitReader(f, maxJSON)); {
	case err == nil:
		return nil
	case errors.As(err, &incomplete):
		return &incompleteError{incomplete.state, path.Base(p) + " " + incomplete.why}
	}
	return torn("%s cannot be read to its end", path.Base(p))
}

// jsonInt returns a number of a JSON file's outermost object. A file that ends early is torn.
func (s *scanner) jsonInt(p, key string) (int64, error) {
	n := int64(noStep)
	err := s.readJSON(p, func(r io.Reader) (err error) {
		n, err = jsonInt(r, key)
		return err
	})
	return n, err
}
