package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/rehearsal/trace"
)

const (
	// tracesDir has a directory attempt-N for each attempt, with a file rank-R.json for each rank. Its name
	// is hidden, so no scan looks into it.
	tracesDir = agentPrefix + "rehearsal"
	// maxTracedAttempts are read, the newest ones, and of each at most maxTracedRanks.
	maxTracedAttempts = 32
	maxTracedRanks    = 4096
)

// lookBefore records what the attempts before left on the volume. The trainer may have begun to save by
// then, so the saves of its own attempt do not count.
func (w *witness) lookBefore() {
	if w.opts.rank >= trace.ComparedRanks {
		w.setSaves(nil)
		return // a gang of thousands must not scan the volume at once
	}
	w.exchangeTraces(false) // rank 0 reads which save was cut off
	found, err := newScanner(w.clock).list(scanRequest{base: w.opts.base, dir: ".", jobUID: w.opts.jobUID})
	if err != nil {
		w.log.Printf("looking at the checkpoints before the rehearsal's attempt: %v", err)
		return
	}
	if w.opts.dir != w.opts.base {
		found = slices.DeleteFunc(found, func(f checkpoint.Found) bool { return f.Attempt == w.opts.attempt })
	}
	v, err := openVolume(w.opts.base)
	if err != nil {
		return
	}
	defer v.Close()
	before, err := w.describe(v, found)
	if err != nil {
		return
	}
	w.setSaves(found)
	if w.opts.rank == 0 {
		w.mu.Lock()
		t := &w.recorder.Trace
		if t.Before, w.written = before, false; t.After == nil { // until the attempt saves
			t.After = before
		}
		w.mu.Unlock()
		w.state.signalNews()
	}
}

func (w *witness) setSaves(found []checkpoint.Found) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.saves = append([]checkpoint.Found{}, found...) // not nil
}

// describe returns what is on the volume. The save that was cut off is that of the newest attempt with one.
func (w *witness) describe(v volume, found []checkpoint.Found) (*checkpoint.TracedVolume, error) {
	stray, err := countStray(v, found, w.clock.Now())
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	cut, attempt := w.recorder.Trace.CutOffPath, int32(0)
	for _, t := range w.others {
		if w.recorder.Trace.CutOffPath == "" && t.Rank == 0 && t.CutOffPath != "" && t.Attempt > attempt {
			cut, attempt = t.CutOffPath, t.Attempt
		}
	}
	w.mu.Unlock()
	out := &checkpoint.TracedVolume{StrayFiles: stray}
	rel := w.opts.pathOf(cut)
	for _, f := range found {
		if f.State == checkpoint.Complete && !f.WrongJob {
			out.Complete++
			out.CutOffComplete = out.CutOffComplete || rel != "" && (contains(f, rel) || f.Path == rel)
		}
	}
	return out, nil
}

// takeFound takes over what the observer has found on the volume. It counts the saves of this attempt.
func (w *witness) takeFound(v volume, found []checkpoint.Found) {
	after, err := w.describe(v, found)
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	t := &w.recorder.Trace
	t.After, w.written = after, false
	if cut := w.opts.pathOf(t.CutOffPath); cut != "" {
		for _, f := range found {
			if contains(f, cut) {
				t.CutOffPath = w.pathText(f.Path)
			}
		}
	}
	for _, f := range found {
		key := savedStep{f.Path, f.Step}
		isOwn := w.opts.dir == w.opts.base || f.Attempt == w.opts.attempt
		if f.State != checkpoint.Complete || f.WrongJob || !isOwn || w.counted[key] || w.wasBefore(f) {
			continue
		}
		w.counted[key] = true
		t.Saves++
		if took := w.watch.took(f); took > 0 {
			t.SaveMilliseconds = max(t.SaveMilliseconds, took.Milliseconds(), 1)
		}
	}
}

// wasBefore reports whether a save was on the volume at the start. It needs mu held.
func (w *witness) wasBefore(f checkpoint.Found) bool {
	return slices.ContainsFunc(w.saves, func(b checkpoint.Found) bool {
		return b.Path == f.Path && b.Step == f.Step && b.State == checkpoint.Complete
	})
}

// exchangeTraces writes this agent's trace if it has changed. That of rank 0 also reads those of the others.
func (w *witness) exchangeTraces(isLast bool) {
	w.exchanging.Lock()
	defer w.exchanging.Unlock()
	v, err := openVolume(w.opts.base)
	if err != nil {
		return // the observer reports it
	}
	defer v.Close()
	w.mu.Lock()
	own, written := w.recorder.Trace, w.written
	own.Steps = slices.Clone(own.Steps)
	w.written = true
	w.mu.Unlock()
	if !written || isLast {
		if err := writeTrace(v, own, isLast); err != nil {
			w.mu.Lock()
			w.written = false
			w.mu.Unlock()
			if w.state.setProblem("trace of the rehearsal", checkpoint.Printable(err.Error(), 300)) {
				w.log.Printf("writing the trace of the rehearsal: %v", err)
			}
		} else {
			w.state.setProblem("trace of the rehearsal", "")
		}
	}
	if w.opts.rank == 0 {
		others := w.known.readAll(v, own.Attempt, own.Rank)
		w.mu.Lock()
		w.others = others
		w.mu.Unlock()
	}
}

func traceName(attempt, rank int32) string {
	return path.Join(tracesDir, fmt.Sprintf("attempt-%d", attempt), fmt.Sprintf("rank-%d.json", rank))
}

// writeTrace replaces a trace as a whole.
func writeTrace(v volume, t checkpoint.Trace, sync bool) error {
	data, err := checkpoint.Encode(t)
	if err != nil {
		return err
	}
	name := traceName(t.Attempt, t.Rank)
	for _, dir := range []string{tracesDir, path.Dir(name)} {
		if err := v.root.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	temporary := path.Join(path.Dir(name), "."+path.Base(name)+".tmp")
	if err := v.root.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := v.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if sync {
		err = errors.Join(err, f.Sync())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return v.root.Rename(temporary, name)
}

// readAll reads the traces of an attempt and of earlier ones, without the given rank's of this attempt. It
// ignores what is no trace. What no comparison needs is left out: the agent has little memory.
func (c traceCache) readAll(v volume, attempt, rank int32) (all []checkpoint.Trace) {
	attempts := numbersIn(v, tracesDir, "attempt-", "", 4*maxTracedAttempts)
	attempts = slices.DeleteFunc(attempts, func(n int32) bool { return n < 1 || n > attempt })
	attempts = attempts[max(len(attempts)-maxTracedAttempts, 0):]
	before := int32(0)
	for _, n := range attempts {
		if n < attempt {
			before = n
		}
	}
	for _, n := range attempts {
		dir := path.Join(tracesDir, fmt.Sprintf("attempt-%d", n))
		for _, r := range numbersIn(v, dir, "rank-", ".json", 2*maxTracedRanks) {
			isOwn := n == attempt && r == rank
			if isOwn || r >= trace.ComparedRanks && n != attempt && n != before {
				continue
			}
			if t := c.readOne(v, n, r); t != nil {
				all = append(all, *t)
			}
		}
	}
	return all
}

// traceCache has the traces of other agents that were read, by attempt and rank.
type traceCache map[[2]int32]knownTrace

type knownTrace struct {
	file  fileState
	trace *checkpoint.Trace
}

// readOne returns nil for what is no trace of that attempt and rank.
func (c traceCache) readOne(v volume, attempt, rank int32) *checkpoint.Trace {
	f, err := v.Open(traceName(attempt, rank))
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	key, state := [2]int32{attempt, rank}, fileState{info.Size(), info.ModTime()}
	if known, ok := c[key]; ok && known.file == state {
		return known.trace
	}
	data, err := io.ReadAll(io.LimitReader(f, checkpoint.MaxTraceBytes+1))
	if err != nil {
		return nil
	}
	t, err := checkpoint.ParseTrace(data)
	if err != nil || t.Attempt != attempt || t.Rank != rank {
		t = nil
	} else if rank >= trace.ComparedRanks {
		t.Steps = nil
	}
	c[key] = knownTrace{state, t}
	return t
}

// numbersIn returns the numbers of the entries PREFIXnSUFFIX of a directory, sorted. It looks at no more than
// most entries.
func numbersIn(v volume, dir, prefix, suffix string, most int) (numbers []int32) {
	f, err := v.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	in, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil
	}
	entries, _ := in.ReadDir(most)
	for _, e := range entries {
		text, isPrefixed := strings.CutPrefix(e.Name(), prefix)
		text, isSuffixed := strings.CutSuffix(text, suffix)
		n, err := strconv.ParseInt(text, 10, 32)
		if isPrefixed && isSuffixed && err == nil && strconv.FormatInt(n, 10) == text && n >= 0 {
			numbers = append(numbers, int32(n))
		}
	}
	slices.Sort(numbers)
	return numbers
}
