package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Scan finds the saves below dir ("." for all of fsys), complete or not, newest first: by step, then by
// attempt, then by path. A save may have several parts. Scan does not follow links.
func Scan(fsys fs.FS, dir string, opts Options) ([]Found, error) {
	s := &scanner{fsys: fsys, opts: opts}
	found, err := s.walk(dir, 0)
	if err != nil {
		return nil, fmt.Errorf("looking for checkpoints: %w", err)
	}
	found = joinSaves(found)
	for i := range found {
		found[i].judge()
	}
	slices.SortFunc(found, newestFirst)
	return found, nil
}

// walk finds the checkpoints in one directory and below: the directory itself, those that share it, and those
// in its subdirectories.
func (s *scanner) walk(dir string, depth int) ([]Found, error) {
	d, err := s.list(dir)
	if errors.Is(err, fs.ErrNotExist) && depth > 0 {
		return nil, nil // deleted during the scan
	} else if err != nil {
		return nil, err
	}
	if f, ok := s.checkDirectory(d); ok {
		f, err = s.finish(f)
		return []Found{f}, err
	}
	found, taken, err := s.findShared(d)
	if err != nil || depth == maxDepth {
		return found, err
	}
	for _, name := range d.dirs {
		if taken[name] || strings.HasPrefix(name, ".") {
			continue
		}
		below, err := s.walk(d.at(name), depth+1)
		if err != nil {
			return nil, err
		}
		if err := s.checkMarkers(d, name, below); err != nil {
			for i := range below {
				if below[i].State == Complete && below[i].Layout != LayoutManifest {
					below[i].setState(err)
				}
			}
		}
		found = append(found, below...)
	}
	return found, nil
}

// checkDirectory reports whether the directory as a whole is a checkpoint, and in which state.
func (s *scanner) checkDirectory(d *listing) (Found, bool) {
	for _, r := range []struct {
		layout  Layout
		matches func(*listing) bool
		check   func(*listing, *Found) error
	}{
		{LayoutManifest, isManifest, s.checkManifest},
		{LayoutOrbax, isOrbax, s.checkOrbax},
		{LayoutAccelerate, isAccelerate, s.checkAccelerate},
		{LayoutHuggingFace, isHuggingFace, s.checkHuggingFace},
		{LayoutTorchDCP, isTorchDCP, func(d *listing, _ *Found) error { return s.checkTorchDCP(d) }},
	} {
		if r.matches(d) {
			f := Found{Path: d.path, Layout: r.layout, Step: stepOf(path.Base(d.path))}
			f.setState(r.check(d, &f))
			return f, true
		}
	}
	return Found{}, false
}

// findShared finds the checkpoints of layouts that share a directory with each other, with a tracker or with
// unrelated files. taken holds the subdirectories that belong to one of them.
func (s *scanner) findShared(d *listing) (found []Found, taken map[string]bool, err error) {
	taken = map[string]bool{}
	for _, find := range []func(*listing, map[string]bool) ([]Found, error){
		s.findMegatron, s.findDeepSpeed, s.findTensorFlow, s.findSingleFiles,
	} {
		some, err := find(d, taken)
		if err != nil {
			return nil, nil, err
		}
		for _, f := range some {
			if f, err = s.finish(f); err != nil {
				return nil, nil, err
			}
			found = append(found, f)
		}
	}
	return found, taken, nil
}

// finish fills in what all layouts have in common.
func (s *scanner) finish(f Found) (Found, error) {
	if s.found++; s.found > maxFound {
		return f, errTooManyFound
	}
	if f.Attempt == 0 {
		f.Attempt = AttemptOf(f.Path)
	}
	if f.Bytes == 0 {
		total, err := s.total(f.Path, 0)
		if err != nil {
			return f, err
		}
		f.Bytes, f.CommittedAt = total.bytes, total.newest
	}
	return f, nil
}

// judge completes the state of a save. A complete one without a step cannot be ordered among the others, so
// it is Unknown. A directory NAME.ckpt is Lightning's, in whatever form its strategy writes.
func (f *Found) judge() {
	if strings.HasSuffix(f.Path, ".ckpt") {
		f.Layout = LayoutLightning
	}
	if f.State == Complete && f.Step < 0 {
		f.State, f.Unordered = Unknown, true
		f.Why = "its name has no step: name it like step-1200, or write a " + ManifestName
	}
}
