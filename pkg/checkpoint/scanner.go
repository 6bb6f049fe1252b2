package checkpoint

import (
	"errors"
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
)

// Options of a Scan.
type Options struct {
	// JobUID of the job, if known. A checkpoint whose manifest names another job is not this job's.
	JobUID string
	// Sums also compares the SHA-256 of files whose manifest has one. It reads all of their bytes.
	Sums bool
}

// scanner reads the tree of one Scan within its bounds.
type scanner struct {
	fsys    fs.FS
	opts    Options
	entries int
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

var errTooMany = errors.New("more than " + strconv.Itoa(maxEntries) +
	" files: give checkpoints a directory of their own")

func (s *scanner) list(dir string) (*listing, error) {
	entries, err := fs.ReadDir(s.fsys, dir)
	if err != nil {
		return nil, err
	}
	if s.entries += len(entries); s.entries > maxEntries {
		return nil, errTooMany
	}
	d := &listing{path: dir, sizes: map[string]int64{}}
	for _, e := range entries {
		switch {
		case e.IsDir():
			d.dirs = append(d.dirs, e.Name())
		case e.Type().IsRegular():
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue // renamed or deleted since the directory was read
			} else if err != nil {
				return nil, err
			}
			d.files, d.sizes[e.Name()] = append(d.files, e.Name()), info.Size()
			d.newest = later(d.newest, info.ModTime())
		}
	}
	slices.Sort(d.dirs)
	return d, nil
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

// read returns the content of a small file. A file of more than limit bytes is Unknown.
func (s *scanner) read(p string, limit int64) ([]byte, error) {
	f, err := s.fsys.Open(p)
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
	f, err := s.fsys.Open(p)
	if err != nil {
		return nil, 0, nil, err
	}
	info, err := f.Stat()
	at, ok := f.(io.ReaderAt)
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = torn("%s is no file", path.Base(p))
	case !ok:
		err = unknown("%s cannot be read at an offset here", path.Base(p))
	default:
		return at, info.Size(), f.Close, nil
	}
	f.Close()
	return nil, 0, nil, err
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
		var incomplete *incompleteError
		if errors.As(err, &incomplete) {
			return &incompleteError{incomplete.state, path.Base(p) + " " + incomplete.why}
		}
		return err
	}
	return nil
}

// jsonInt returns a number of a JSON file's outermost object. A file that ends early is torn.
func (s *scanner) jsonInt(p, key string) (int64, error) {
	f, err := s.fsys.Open(p)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n, err := jsonInt(io.LimitReader(f, maxJSON), key)
	if err != nil {
		return 0, torn("%s cannot be read to its end", path.Base(p))
	}
	return n, nil
}
