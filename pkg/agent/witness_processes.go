package agent

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

const (
	// maxOpenFiles of all processes are looked at, and maxMapsBytes of the mapped files of each.
	maxOpenFiles = 8192
	maxMapsBytes = 1 << 20
	// maxReadFiles below the checkpoint directory are remembered.
	maxReadFiles = 1024
	// leastLoad is the least size of a file that counts as read from another checkpoint: programs that choose
	// among checkpoints read the small ones of all.
	leastLoad = 4 << 10
)

// openFile is a file that a trainer's process has open or mapped.
type openFile struct {
	path          string
	size          int64 // in bytes
	reads, writes bool
}

// lookAtProcesses records which files the trainer reads and writes. It returns how long to wait.
func (w *witness) lookAtProcesses() time.Duration {
	now := w.clock.Now()
	if now.Before(w.nextProcesses) && !w.isFast(now) {
		return witnessPoll
	}
	w.nextProcesses = now.Add(slowPoll)
	all, ok := w.container.processes()
	if ok {
		left := maxOpenFiles
		for _, p := range all {
			w.takeFiles(w.container.openFiles(p.pid, &left))
			if w.wantsMaps() {
				w.takeFiles(w.mappedFiles(p.pid))
			}
		}
	}
	w.judgeReads()
	return witnessPoll
}

// openFiles returns the regular files that a process has open. A process of another user shows none.
func (c container) openFiles(pid int, left *int) (files []openFile) {
	dir := filepath.Join(c.proc, strconv.Itoa(pid), "fd")
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(max(*left, 1))
	*left = max(*left-len(names), 0)
	for _, name := range names {
		at := filepath.Join(dir, name)
		path, err := os.Readlink(at)
		if err != nil || !filepath.IsAbs(path) || isSystemPath(path) {
			continue
		}
		link, err := os.Lstat(at) // its mode is how the file was opened
		if err != nil {
			continue
		}
		info, err := os.Stat(at)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		files = append(files, openFile{path: path, size: info.Size(),
			reads: link.Mode()&0o400 != 0, writes: link.Mode()&0o200 != 0})
	}
	return files
}

// mappedFiles returns the files below the checkpoint directory that a process has mapped, by the lines of
// proc_pid_maps(5).
func (w *witness) mappedFiles(pid int) (files []openFile) {
	data := readSystemFile(filepath.Join(w.container.proc, strconv.Itoa(pid), "maps"), maxMapsBytes)
	last := ""
	for line := range bytes.Lines(data) {
		_, path, _ := strings.Cut(string(line), "/")
		path = "/" + strings.TrimSuffix(path, "\n")
		if _, inside := w.relative(path); !inside || path == last {
			continue
		}
		last = path
		if info, err := os.Stat(path); err == nil {
			files = append(files, openFile{path: path, size: info.Size(), reads: true})
		}
	}
	return files
}

func isSystemPath(path string) bool {
	for _, root := range []string{"/proc", "/dev", "/sys"} {
		if isBelow(path, root) {
			return true
		}
	}
	return strings.HasSuffix(path, " (deleted)")
}

// wantsMaps reports whether the mapped files matter: until the first step, and until the resume point is
// loaded.
func (w *witness) wantsMaps() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := &w.recorder.Trace
	return len(w.bases) > 0 && (t.FirstStep == nil || w.opts.pinned != "" && !t.Loaded)
}

// takeFiles sorts files by what the trainer does with them.
func (w *witness) takeFiles(files []openFile) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := &w.recorder.Trace
	for _, f := range files {
		rel, inside := w.relative(f.path)
		switch {
		case inside && (isBelow(rel, tracesDir) || isLogFile(rel)):
		case inside && f.writes:
			w.written = w.written && t.Wrote
			t.Wrote = true
		case inside && f.reads:
			isOfResume := isBelow(rel, w.resume)
			if isOfResume || t.FirstStep == nil && f.size >= leastLoad {
				if len(w.read) < maxReadFiles {
					w.read[rel] = true
				}
			}
		case f.writes && f.size > t.OutsideBytes && !w.isOwn(f.path):
			t.OutsidePath, t.OutsideBytes = checkpoint.Printable(f.path, maxPathText), f.size
			w.written = false
		}
	}
}

// isOwn reports whether a file lies where the agent and the trainer exchange messages.
func (w *witness) isOwn(path string) bool {
	for _, own := range []string{w.opts.statusFile, w.opts.commandFile, w.opts.beatFile, w.opts.settingsFile} {
		if own != "" && filepath.Dir(path) == filepath.Dir(own) {
			return true
		}
	}
	return false
}

// judgeReads compares the files that were read with the checkpoints that were there at the start.
func (w *witness) judgeReads() {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, resume := &w.recorder.Trace, w.resume
	for rel := range w.read {
		if isBelow(rel, resume) {
			w.written = w.written && t.Loaded
			t.Loaded = true
			continue
		}
		for _, f := range w.saves {
			if !contains(f, rel) {
				continue
			}
			switch {
			case contains(f, resume) || f.Path == resume: // a part of the resume point beside it
				w.written = w.written && t.Loaded
				t.Loaded = true
			case t.LoadedOther == "":
				t.LoadedOther, w.written = w.pathText(f.Path), false
			}
		}
	}
	if w.saves != nil {
		clear(w.read)
	}
}

// contains reports whether a path lies in a save.
func contains(f checkpoint.Found, rel string) bool {
	for _, root := range f.Roots() {
		if isBelow(rel, root) {
			return true
		}
	}
	return false
}

// countStray counts the files that belong to no save whose parts the agent knows. It does not delete all of
// these: the Trainer of Hugging Face, for example, deletes its own. Files of the last settleTime can be of a
// save that began after the scan.
func countStray(v volume, found []checkpoint.Found, now time.Time) (int32, error) {
	known := map[string]bool{}
	for _, f := range found {
		if f.Layout != checkpoint.LayoutTorchSave {
			for _, root := range f.Roots() {
				known[root] = true
			}
		}
	}
	stray := int32(0)
	err := walkVolume(v, ".", func(p string, e fs.DirEntry) error {
		isKnown := known[p] || strings.HasPrefix(e.Name(), agentPrefix)
		switch {
		case isKnown && e.IsDir():
			return fs.SkipDir
		case isKnown, !e.Type().IsRegular():
			return nil
		}
		if info, err := e.Info(); err == nil && info.ModTime().Before(now.Add(-settleTime)) {
			stray++
		}
		return nil
	})
	return stray, err
}
