package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// observer reads the status file and finds complete checkpoints. It runs in a goroutine of its own: a
// volume that hangs must not keep signals from the trainer.
type observer struct {
	opts  *options
	state *state
	clock clock
	log   *log.Logger
	// scanner looks at the volume.
	scanner *scanner

	// lastInvalid is a status that could not be parsed. The file was half written if the next read finds
	// another.
	lastInvalid []byte
	scanned     bool
	lastPrint   uint64    // fingerprint of the last scan
	nextScan    time.Time // by the monotonic clock
	// firstSeen is when each unfinished checkpoint was first seen, by its path.
	firstSeen map[string]time.Time
	// whole are the paths of the checkpoints that were whole at the last scan, committed those of them that
	// were not at the scan before.
	whole     map[string]bool
	committed []string
	// settled are the whole saves that have stopped changing.
	settled settled
	// announced: the attempt's directory is there. retainedFor is what retention was last done for.
	announced   bool
	retainedFor commits
	// onFound is called with what each scan has found, in a rehearsal; else nil.
	onFound func(volume, []checkpoint.Found)
}

func newObserver(o *options, s *state, c clock, l *log.Logger) *observer {
	return &observer{opts: o, state: s, clock: c, log: l, scanner: newScanner(c),
		firstSeen: map[string]time.Time{}}
}

// firstStepPoll is how often the status file is looked at until it has the first step. A trainer that
// ignores its resume point must be seen before it has caught up with it.
const firstStepPoll = 20 * time.Millisecond

// run observes until stop is closed, and then once more.
func (o *observer) run(stop <-chan struct{}) {
	next := o.clock.After(o.opts.poll)
	for {
		var soon <-chan time.Time
		if o.awaitsFirstStep() {
			soon = o.clock.After(firstStepPoll)
		}
		select {
		case <-stop:
			o.nextScan = time.Time{}
			o.observe()
			return
		case <-soon:
			// Only a whole status counts here: this look may come while it is written.
			if data, err := readBounded(o.opts.statusFile, checkpoint.MaxStatusBytes); err == nil {
				if status, err := checkpoint.ParseStatus(data); err == nil {
					o.setStatus(status)
				}
			}
		case <-next:
			o.observe()
			next = o.clock.After(o.opts.poll)
		}
	}
}

// awaitsFirstStep reports whether the trainer has a resume point, and has not reported its first step yet.
func (o *observer) awaitsFirstStep() bool {
	if o.opts.rank != 0 || o.opts.pinned == "" || o.opts.statusFile == "" {
		return false
	}
	o.state.mu.Lock()
	defer o.state.mu.Unlock()
	return o.state.firstStep == nil
}

func (o *observer) observe() {
	o.readStatus()
	if o.opts.rank != 0 {
		return // rank 0 reports for all
	}
	switch {
	case o.opts.objectStore:
		o.readReportedCheckpoint()
	case o.opts.dir != "":
		o.watchVolume()
	}
}

// noteProblem records the problem with a subject, and logs it if it is new. A nil error clears it.
func (o *observer) noteProblem(subject string, err error) {
	text := ""
	if err != nil {
		text = checkpoint.Printable(err.Error(), 300)
	}
	if o.state.setProblem(subject, text) {
		o.log.Printf("%s: %s", subject, text)
	}
}

// readStatus keeps the last valid status. A file that cannot be parsed may be half written; it is a
// problem only if it stays as it is.
func (o *observer) readStatus() {
	if o.opts.statusFile == "" {
		return
	}
	data, err := readBounded(o.opts.statusFile, checkpoint.MaxStatusBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var status *checkpoint.Status
	if err == nil {
		status, err = checkpoint.ParseStatus(data)
	}
	if err != nil {
		if o.lastInvalid != nil && bytes.Equal(o.lastInvalid, data) {
			o.noteProblem("status file", err)
		}
		o.lastInvalid = append([]byte{}, data...)
		return
	}
	o.lastInvalid = nil
	o.noteProblem("status file", nil)
	o.setStatus(status)
}

func (o *observer) setStatus(status *checkpoint.Status) {
	o.state.mu.Lock()
	last := o.state.status
	o.state.status, o.state.hasFile, o.state.kubeflow = status, true, nil
	// While it starts the trainer has not loaded its resume point, so its step has no meaning.
	if o.state.firstStep == nil && status.Phase != checkpoint.PhaseStarting {
		step := status.Step
		o.state.firstStep = &step
	}
	o.state.mu.Unlock()
	if last == nil || last.Phase != status.Phase || last.CommandID != status.CommandID {
		o.state.signalNews()
	}
}

// readReportedCheckpoint trusts the trainer's status: the agent cannot read an object store.
func (o *observer) readReportedCheckpoint() {
	o.state.mu.Lock()
	status, known := o.state.status, o.state.commit
	o.state.mu.Unlock()
	if status == nil || status.Checkpoint == nil || status.Checkpoint.State != checkpoint.SaveCommitted {
		return
	}
	save := *status.Checkpoint
	if known != nil && save.Step <= known.Step {
		return
	}
	u, err := checkpoint.ParseURI(save.URI)
	if err == nil && !u.Under(*o.opts.uri) {
		err = fmt.Errorf("%s does not lie under %s", u, o.opts.uri)
	}
	o.noteProblem("checkpoint", err)
	if err == nil {
		save.URI = u.String()
		o.recordCommit(save, checkpoint.LayoutReported)
	}
}

// watchVolume scans the volume if something has changed, and spends at most a twentieth of its time on that.
func (o *observer) watchVolume() {
	began := o.clock.Now()
	// A wait of more than an hour is not ours: the clock has jumped back.
	if began.Before(o.nextScan) && o.nextScan.Sub(began) < time.Hour {
		return
	}
	err := o.scan()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // the trainer makes its directory with its first save
	}
	o.noteProblem("checkpoint directory", err)
	if took := o.clock.Now().Sub(began); took > 0 {
		o.nextScan = o.clock.Now().Add(20 * min(took, time.Minute))
	}
}

func (o *observer) scan() error {
	v, err := openVolume(o.opts.base)
	if err != nil {
		return err
	}
	defer v.Close()
	rel, err := filepath.Rel(o.opts.base, o.opts.dir)
	if err != nil {
		return err
	}
	o.announce(v, filepath.ToSlash(rel))
	print, err := fingerprint(v, filepath.ToSlash(rel))
	if err != nil {
		return err
	}
	if o.scanned && print == o.lastPrint {
		o.settled.look(o.clock.Now())
		o.retainIfDue(v)
		return nil
	}
	// Which parts a save has is known from the saves of all attempts.
	found, err := o.scanner.list(scanRequest{base: o.opts.base, dir: ".", jobUID: o.opts.jobUID})
	if err != nil {
		return err
	}
	o.lastPrint, o.scanned = print, true
	o.settled.scan(found, o.clock.Now())
	if o.onFound != nil {
		o.onFound(v, found)
	}
	found = slices.DeleteFunc(found, func(f checkpoint.Found) bool {
		return !isBelow(f.Path, filepath.ToSlash(rel))
	})
	o.trackUnfinished(found)
	o.trackCommits(found)
	o.consider(checkpoint.Choose(found, nil))
	o.retainIfDue(v)
	return nil
}

// trackUnfinished remembers when each unfinished checkpoint was first seen, to measure how long its save
// takes.
func (o *observer) trackUnfinished(found []checkpoint.Found) {
	firstSeen := map[string]time.Time{}
	for _, f := range found {
		at, ok := o.sinceWhen(&f)
		if !ok && f.State != checkpoint.Complete {
			at, ok = o.clock.Now(), true
		}
		if ok {
			for _, root := range append(f.Roots(), f.Path) {
				firstSeen[root] = at
			}
		}
	}
	o.firstSeen = firstSeen
}

// sinceWhen returns when a part of a save was first seen unfinished.
func (o *observer) sinceWhen(f *checkpoint.Found) (at time.Time, ok bool) {
	for _, root := range append(f.Roots(), f.Path) {
		if seen, known := o.firstSeen[root]; known && (!ok || seen.Before(at)) {
			at, ok = seen, true
		}
	}
	return at, ok
}

// trackCommits remembers what became whole last, for retention: no clock and no name can be wrong about that.
func (o *observer) trackCommits(found []checkpoint.Found) {
	whole, committed := map[string]bool{}, []string(nil)
	for _, f := range found {
		if f.State != checkpoint.Complete && !f.Unordered {
			continue
		}
		whole[f.Path] = true
		if !o.whole[f.Path] {
			committed = append(committed, f.Path)
		}
	}
	o.whole = whole
	if committed != nil {
		o.committed = committed
	}
}

// consider records the newest complete checkpoint, if it is a new one. One without a step is never committed.
func (o *observer) consider(c checkpoint.Choice) {
	c = withoutUnordered(c)
	passedOver := o.opts.passedOver(c.PassedOver)
	o.state.mu.Lock()
	o.state.passedOver = passedOver
	known := o.state.commit
	o.state.mu.Unlock()
	if c.Found == nil {
		return
	}
	uri, err := o.opts.uriOf(c.Found.Path)
	o.noteProblem("checkpoint", err)
	if err != nil || known != nil && (c.Point.Step < known.Step || uri == known.URI &&
		c.Point.Step == known.Step) {
		return
	}
	save := checkpoint.Save{URI: uri, Step: c.Point.Step, Bytes: c.Found.Bytes}
	if at, ok := o.sinceWhen(c.Found); ok {
		save.DurationSeconds = min(max(o.clock.Now().Sub(at).Seconds(), 0), 1e7)
	}
	o.recordCommit(save, c.Found.Layout)
}

func (o *observer) recordCommit(save checkpoint.Save, layout checkpoint.Layout) {
	save.State = checkpoint.SaveCommitted
	if now := o.clock.Now().UTC(); save.CommittedAt == nil && plausible(now) {
		now = now.Truncate(time.Second)
		save.CommittedAt = &now
	}
	o.state.mu.Lock()
	o.state.commit, o.state.layout = &save, layout
	o.state.mu.Unlock()
	o.log.Printf("checkpoint of step %d is complete: %s", save.Step, save.URI)
	o.state.signalNews()
}

// withoutUnordered passes over a chosen checkpoint that has no step.
func withoutUnordered(c checkpoint.Choice) checkpoint.Choice {
	if c.Found != nil && c.Found.Unordered {
		c.PassedOver = append([]checkpoint.Found{*c.Found}, c.PassedOver...)
		c.Found, c.Point = nil, nil
	}
	return c
}

func isBelow(p, dir string) bool { return dir == "." || p == dir || strings.HasPrefix(p, dir+"/") }
