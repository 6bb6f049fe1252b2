package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Bounds of one Scan. A volume that is beyond them is said to be, not half read.
const (
	maxDepth   = 6
	maxEntries = 200_000
)

// Options of a Scan.
type Options struct {
	// JobUID, if known: a manifest that names another one is not ours.
	JobUID string
	// Sums also compares the SHA-256 of files whose manifest has one. It reads all of their bytes.
	Sums bool
}

// Scan finds the checkpoints below dir ("." for all of fsys), complete or not, newest first: by step, then by attempt, then
// by path. Links are not followed.
func Scan(fsys fs.FS, dir string, opts Options) ([]Found, error) {
	l := &look{fsys: fsys, opts: opts}
	if err := l.walk(dir, 0); err != nil {
		return nil, fmt.Errorf("looking for checkpoints: %w", err)
	}
	slices.SortFunc(l.found, newestFirst)
	return l.found, nil
}

func newestFirst(a, b Found) int {
	return cmp.Or(cmp.Compare(b.Step, a.Step), cmp.Compare(b.Attempt, a.Attempt), cmp.Compare(a.Path, b.Path))
}

// look is one Scan under way.
type look struct {
	fsys    fs.FS
	opts    Options
	entries int
	found   []Found
}

// listing is a directory's regular files with their sizes, and its directories, in order.
type listing struct {
	path  string
	dirs  []string
	files []string
	sizes map[string]int64
}

func (d *listing) has(file string) bool { _, ok := d.sizes[file]; return ok }
func (d *listing) hasDir(name string) bool {
	_, ok := slices.BinarySearch(d.dirs, name)
	return ok
}
func (d *listing) at(name string) string { return path.Join(d.path, name) }

var errTooMany = errors.New("more than " + strconv.Itoa(maxEntries) + " files: give checkpoints a directory of their own")

func (l *look) list(dir string) (*listing, error) {
	entries, err := fs.ReadDir(l.fsys, dir)
	if err != nil {
		return nil, err
	}
	if l.entries += len(entries); l.entries > maxEntries {
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
				continue // renamed meanwhile
			} else if err != nil {
				return nil, err
			}
			d.files, d.sizes[e.Name()] = append(d.files, e.Name()), info.Size()
		}
	}
	slices.Sort(d.dirs)
	return d, nil
}

// walk looks at one directory: is it a checkpoint, does it hold some that share it, and what lies below?
func (l *look) walk(dir string, depth int) error {
	d, err := l.list(dir)
	if errors.Is(err, fs.ErrNotExist) && depth > 0 {
		return nil // deleted while we looked
	} else if err != nil {
		return err
	}
	if f, ok := l.whole(d); ok {
		return l.add(f)
	}
	taken := map[string]bool{}
	for _, group := range []func(*listing, map[string]bool) error{l.megatron, l.deepSpeed, l.tensorFlow, l.singleFiles} {
		if err := group(d, taken); err != nil {
			return err
		}
	}
	if depth == maxDepth {
		return nil
	}
	for _, name := range d.dirs {
		if taken[name] || strings.HasPrefix(name, ".") {
			continue
		}
		if err := l.walk(d.at(name), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// whole says whether a directory as such is a checkpoint.
func (l *look) whole(d *listing) (Found, bool) {
	for _, r := range []struct {
		layout Layout
		looks  func(*listing) bool
		check  func(*listing, *Found) error
	}{
		{LayoutManifest, looksManifest, l.checkManifest},
		{LayoutOrbax, looksOrbax, l.checkOrbax},
		{LayoutHuggingFace, looksHuggingFace, l.checkHuggingFace},
		{LayoutTorchDCP, looksTorchDCP, l.checkTorchDCP},
	} {
		if r.looks(d) {
			f := Found{Path: d.path, Layout: r.layout, Step: stepOf(path.Base(d.path))}
			f.judge(r.check(d, &f))
			return f, true
		}
	}
	return Found{}, false
}

// add completes what all layouts have in common.
func (l *look) add(f Found) error {
	if f.Attempt == 0 {
		f.Attempt = attemptOf(f.Path)
	}
	if f.State == Complete && f.Step < 0 {
		f.State, f.Why = Unknown, "nothing says its step: put the step into its name (step-1200), or write a "+ManifestName
	}
	if f.Bytes == 0 {
		n, err := l.size(f.Path, 0)
		if err != nil {
			return err
		}
		f.Bytes = n
	}
	l.found = append(l.found, f)
	return nil
}

// size of all files at or below a path.
func (l *look) size(p string, depth int) (int64, error) {
	info, err := fs.Stat(l.fsys, p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, err
	case !info.IsDir():
		return info.Size(), nil
	}
	d, err := l.list(p)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return 0, err
	}
	var sum int64
	for _, n := range d.sizes {
		sum += n
	}
	for _, name := range d.dirs {
		if depth == maxDepth {
			break
		}
		n, err := l.size(d.at(name), depth+1)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// attemptDir is what the operator calls an attempt's directory.
var attemptDir = regexp.MustCompile(`^attempt-([1-9][0-9]{0,6})$`)

// AttemptDir is the name of an attempt's directory below the job's checkpoint path.
func AttemptDir(attempt int32) string { return "attempt-" + strconv.Itoa(int(attempt)) }

func attemptOf(p string) int32 {
	for s := range strings.SplitSeq(p, "/") {
		if m := attemptDir.FindStringSubmatch(s); m != nil {
			n, _ := strconv.Atoi(m[1])
			return int32(n)
		}
	}
	return 0
}

var (
	namedStep  = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:step|iter|iteration)s?[=_-]?([0-9]{1,15})(?:[^0-9]|$)`)
	lastNumber = regexp.MustCompile(`^(?:.*[^0-9])?([0-9]{1,15})[^0-9]*$`)
	epochNamed = regexp.MustCompile(`(?i)epoch`)
	suffixes   = []string{".weights.h5", ".keras", ".ckpt", ".pt", ".pth"}
)

// stepOf reads the step in a name: "step=1200", "global_step1200", else its last number. The number of an epoch is no step.
func stepOf(name string) int64 {
	for _, s := range suffixes {
		name = strings.TrimSuffix(name, s)
	}
	m := namedStep.FindStringSubmatch(name)
	if m == nil && !epochNamed.MatchString(name) && !attemptDir.MatchString(name) {
		m = lastNumber.FindStringSubmatch(name)
	}
	if m == nil {
		return noStep
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return noStep
	}
	return n
}

// read a small file whole.
func (l *look) read(p string, limit int64) ([]byte, error) {
	f, err := l.fsys.Open(p)
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

// bytesAt opens a file for reads at offsets; its size comes along.
func (l *look) bytesAt(p string) (io.ReaderAt, int64, func() error, error) {
	f, err := l.fsys.Open(p)
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

// wholeFile checks one file with one of the format checks below.
func (l *look) wholeFile(p string, check func(io.ReaderAt, int64) error) error {
	r, size, done, err := l.bytesAt(p)
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
		var fd *finding
		if errors.As(err, &fd) {
			return &finding{fd.state, path.Base(p) + " " + fd.why}
		}
		return err
	}
	return nil
}
