package main

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// observer looks at the status file and at the checkpoints. It runs in a goroutine of its own: a volume that hangs must not keep
// signals from the trainer.
type observer struct {
	opts  *options
	view  *view
	clock clock
	log   *log.Logger

	bad     []byte // a status that could not be read: half written, if the next look finds another
	print   uint64
	looked  bool
	nextDir time.Time // by the monotonic clock
	begun   map[string]time.Time
}

func newObserver(o *options, v *view, c clock, l *log.Logger) *observer {
	return &observer{opts: o, view: v, clock: c, log: l, begun: map[string]time.Time{}}
}

// follow looks until stop is closed, and once more.
func (o *observer) follow(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			o.nextDir = time.Time{}
			o.look()
			return
		case <-o.clock.After(o.opts.poll):
			o.look()
		}
	}
}

func (o *observer) look() {
	o.readStatus()
	if o.opts.rank != 0 {
		return // rank 0 speaks for all
	}
	switch {
	case o.opts.object:
		o.believe()
	case o.opts.dir != "":
		o.lookAtVolume()
	}
}

func (o *observer) say(about string, err error) {
	text := ""
	if err != nil {
		text = checkpoint.Printable(err.Error(), 300)
	}
	if o.view.problem(about, text) {
		o.log.Printf("%s: %s", about, text)
	}
}

// readStatus keeps the last good one. A file that cannot be read may be half written; only when it stays as it is is it wrong.
func (o *observer) readStatus() {
	if o.opts.statusFile == "" {
		return
	}
	data, err := readBounded(o.opts.statusFile, checkpoint.MaxStatusBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var s *checkpoint.Status
	if err == nil {
		s, err = checkpoint.ParseStatus(data)
	}
	if err != nil {
		if o.bad != nil && bytes.Equal(o.bad, data) {
			o.say("status file", err)
		}
		o.bad = append([]byte{}, data...)
		return
	}
	o.bad = nil
	o.say("status file", nil)
	o.view.mu.Lock()
	last := o.view.status
	o.view.status = s
	if o.view.firstStep == nil && s.Phase != checkpoint.PhaseStarting { // until then it has not loaded what it resumes from
		step := s.Step
		o.view.firstStep = &step
	}
	o.view.mu.Unlock()
	if last == nil || last.Phase != s.Phase || last.CommandID != s.CommandID {
		o.view.tell()
	}
}

// believe takes the trainer's word: nobody else can see an object store.
func (o *observer) believe() {
	o.view.mu.Lock()
	s, have := o.view.status, o.view.commit
	o.view.mu.Unlock()
	if s == nil || s.Checkpoint == nil || s.Checkpoint.State != checkpoint.SaveCommitted {
		return
	}
	said := *s.Checkpoint
	if have != nil && said.Step <= have.Step {
		return
	}
	u, err := checkpoint.ParseURI(said.URI)
	if err == nil && !u.Under(*o.opts.uri) {
		err = fmt.Errorf("%s does not lie under %s", u, o.opts.uri)
	}
	o.say("checkpoint", err)
	if err == nil {
		said.URI = u.String()
		o.commit(said, checkpoint.LayoutReported)
	}
}

// lookAtVolume scans when something has changed, and spends at most a twentieth of its time on it.
func (o *observer) lookAtVolume() {
	began := o.clock.Now()
	if began.Before(o.nextDir) && o.nextDir.Sub(began) < time.Hour { // beyond that it is no wait of ours, but a clock that jumped back
		return
	}
	err := o.scan()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // the trainer makes its directory when it saves
	}
	o.say("checkpoint directory", err)
	if took := o.clock.Now().Sub(began); took > 0 {
		o.nextDir = o.clock.Now().Add(20 * min(took, time.Minute))
	}
}

func (o *observer) scan() error {
	root, err := os.OpenRoot(o.opts.base) // links cannot lead out of it
	if err != nil {
		return err
	}
	defer root.Close()
	rel, err := filepath.Rel(o.opts.base, o.opts.dir)
	if err != nil {
		return err
	}
	print, err := fingerprint(root.FS(), filepath.ToSlash(rel))
	if err != nil {
		return err
	}
	if o.looked && print == o.print {
		return nil
	}
	found, err := checkpoint.Scan(root.FS(), filepath.ToSlash(rel), checkpoint.Options{JobUID: o.opts.jobUID})
	if err != nil {
		return err
	}
	o.print, o.looked = print, true
	o.note(found)
	if o.weigh(checkpoint.Choose(found, nil)) && o.opts.keepLast > 0 {
		o.say("retention", retain(root, o.opts))
	}
	return nil
}

// note remembers when each unfinished checkpoint was first seen: that is how long a save takes.
func (o *observer) note(found []checkpoint.Found) {
	seen := map[string]time.Time{}
	for _, f := range found {
		at, ok := o.begun[f.Path]
		if !ok && f.State != checkpoint.Complete {
			at, ok = o.clock.Now(), true
		}
		if ok {
			seen[f.Path] = at
		}
	}
	o.begun = seen
}

// weigh takes the newest complete checkpoint over and says whether it is a new one.
func (o *observer) weigh(c checkpoint.Choice) bool {
	passed := passedOver(c.PassedOver, o.opts.uriOf)
	o.view.mu.Lock()
	o.view.passed = passed
	have := o.view.commit
	o.view.mu.Unlock()
	if c.Found == nil {
		return false
	}
	uri, err := o.opts.uriOf(c.Found.Path)
	o.say("checkpoint", err)
	if err != nil || have != nil && (c.Found.Step < have.Step || uri == have.URI && c.Found.Step == have.Step) {
		return false
	}
	save := checkpoint.Save{URI: uri, Step: c.Found.Step, Bytes: c.Found.Bytes}
	if at, ok := o.begun[c.Found.Path]; ok {
		save.DurationSeconds = min(max(o.clock.Now().Sub(at).Seconds(), 0), 1e7)
	}
	o.commit(save, c.Found.Layout)
	return true
}

func (o *observer) commit(save checkpoint.Save, layout checkpoint.Layout) {
	save.State = checkpoint.SaveCommitted
	if now := o.clock.Now().UTC(); save.CommittedAt == nil && now.Year() >= 2000 && now.Year() < 2200 { // else the clock is broken
		now = now.Truncate(time.Second)
		save.CommittedAt = &now
	}
	o.view.mu.Lock()
	o.view.commit, o.view.layout = &save, layout
	o.view.mu.Unlock()
	o.log.Printf("checkpoint of step %d is complete: %s", save.Step, save.URI)
	o.view.tell()
}

func passedOver(found []checkpoint.Found, uriOf func(string) (string, error)) []checkpoint.Passed {
	var out []checkpoint.Passed
	for _, f := range found {
		uri, err := uriOf(f.Path)
		if err != nil {
			uri = checkpoint.Printable(f.Path, 1024)
		}
		if out = append(out, checkpoint.Passed{URI: uri, Why: f.Why}); len(out) == 8 {
			break
		}
	}
	return out
}

// fingerprint of names, sizes and times: only whether it changed matters, so times that jump do no harm.
func fingerprint(fsys fs.FS, dir string) (uint64, error) {
	h, n := fnv.New64a(), 0
	err := fs.WalkDir(fsys, dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil {
			var info fs.FileInfo
			if info, err = e.Info(); err == nil {
				fmt.Fprintln(h, path, info.Size(), info.ModTime().UnixNano(), info.Mode())
			}
		}
		if n++; n > 200_000 {
			return fs.SkipAll // Scan says so
		}
		if errors.Is(err, fs.ErrNotExist) && path != dir {
			return nil
		}
		return err
	})
	return h.Sum64(), err
}
