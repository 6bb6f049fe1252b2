package agent

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// saveWatch measures how long the entries of the attempt's directory change. It looks at names, sizes and
// times alone, so it is cheap enough for a look every 20 ms.
type saveWatch struct {
	// prefix is the attempt's directory below the base.
	prefix  string
	entries map[string]savedEntry
	files   map[string]fileState
	looked  bool
	// changes counts the looks that found a change. lastAt is the time of the last one.
	changes int
	lastAt  time.Time
}

// savedEntry is a file or directory directly in the attempt's directory.
type savedEntry struct {
	info fs.FileInfo
	// since and until bound the changes of the save that wrote it last. done: that save is complete.
	since, until time.Time
	done         bool
}

type fileState struct {
	size int64
	at   time.Time
}

// lookAtSaves looks at the attempt's directory, and reports whether a file there has changed.
func (w *witness) lookAtSaves() bool {
	w.looking.Lock() // of two looks the older one must not count last
	defer w.looking.Unlock()
	v, err := openVolume(w.opts.base)
	if err != nil {
		return false
	}
	defer v.Close()
	rel, err := filepath.Rel(w.opts.base, w.opts.dir)
	if err != nil {
		return false
	}
	now, files, entries := w.clock.Now(), map[string]fileState{}, map[string]fs.FileInfo{}
	rel = filepath.ToSlash(rel)
	err = walkVolume(v, rel, func(p string, e fs.DirEntry) error {
		if strings.HasPrefix(e.Name(), agentPrefix) || isLogFile(e.Name()) {
			return fs.SkipDir
		}
		info, err := e.Info()
		if err != nil {
			return nil // it was deleted or renamed
		}
		if path.Dir(p) == rel {
			entries[p] = info
		}
		if !e.IsDir() {
			files[p] = fileState{info.Size(), info.ModTime()}
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.watch.take(now, rel, files, entries)
}

// isLogFile reports whether a program appends to a file all the time.
func isLogFile(name string) bool {
	return strings.Contains(name, ".tfevents") ||
		slices.Contains([]string{".log", ".jsonl", ".csv", ".txt"}, path.Ext(name))
}

// take compares a look with the one before. What is there at the first look has not changed.
func (s *saveWatch) take(
	now time.Time, prefix string, files map[string]fileState, entries map[string]fs.FileInfo,
) bool {
	s.prefix = prefix
	changed, ended := map[string]bool{}, map[string]bool{}
	for p, f := range files {
		if before, ok := s.files[p]; s.looked && (!ok || before != f) {
			changed[s.entryOf(p)] = true
			if path.Base(p) == checkpoint.ManifestName { // which is written last
				ended[s.entryOf(p)] = true
			}
		}
	}
	next := map[string]savedEntry{}
	for p, info := range entries {
		e, known := s.entries[p]
		if !known {
			if e = s.renamed(info, entries); s.looked {
				changed[p] = true
			}
		}
		e.info = info
		if changed[p] {
			if e.since.IsZero() || e.done {
				e.since, e.done = now, false
			}
			e.until, e.done = now, ended[p]
		}
		next[p] = e
	}
	s.entries, s.files, s.looked = next, files, true
	if len(changed) > 0 {
		s.changes, s.lastAt = s.changes+1, now
	}
	return len(changed) > 0
}

// renamed returns the entry that has a new name.
func (s *saveWatch) renamed(info fs.FileInfo, entries map[string]fs.FileInfo) savedEntry {
	for p, e := range s.entries {
		if _, stays := entries[p]; !stays && os.SameFile(e.info, info) {
			return e
		}
	}
	return savedEntry{}
}

// entryOf returns the entry that a path lies in.
func (s *saveWatch) entryOf(p string) string {
	rel := strings.TrimPrefix(p, s.prefix+"/")
	if s.prefix == "." {
		rel = p
	}
	first, _, _ := strings.Cut(rel, "/")
	return path.Join(s.prefix, first)
}

// took returns for how long a save that is complete was written, 0 if that was not seen.
func (s *saveWatch) took(f checkpoint.Found) (took time.Duration) {
	var since, until time.Time
	for _, root := range append(f.Roots(), f.Path) {
		p := s.entryOf(root)
		e, ok := s.entries[p]
		if !ok || e.since.IsZero() {
			continue
		}
		if since.IsZero() || e.since.Before(since) {
			since = e.since
		}
		if e.until.After(until) {
			until = e.until
		}
		e.done = true
		s.entries[p] = e
	}
	if since.IsZero() {
		return 0
	}
	return max(until.Sub(since), time.Millisecond)
}
