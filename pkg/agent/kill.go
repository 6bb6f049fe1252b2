package agent

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/reportclient"
)

const (
	// cutOffTries is how many saves are requested to cut one off.
	cutOffTries = 5
	// cutOffTime bounds all tries, where the command has no deadline.
	cutOffTime = 10 * time.Minute
	// quietTime after the last change of a save is its end, if the trainer does not report that.
	quietTime = 2 * time.Second
	// signalRounds bound how often the trainer's processes are listed until all are dead, or stopped.
	signalRounds = 100
	// endedStates are those of processes that have ended.
	endedStates = "ZX"
)

// obeyRehearsal lets a reporter carry out the commands of a rehearsal. Outside of one they are refused.
func (r *runner) obeyRehearsal(
	ctx context.Context, reporter *reportclient.Reporter, notify func(syscall.Signal),
) {
	deliverToTrainer := reporter.HandleCommand
	reporter.HandleCommand = func(c checkpoint.Command) error {
		if c.Command != checkpoint.CommandKill && c.Command != checkpoint.CommandKillInSave {
			err := deliverToTrainer(c)
			if err == nil && r.witness != nil && c.Command == checkpoint.CommandCheckpointAndExit {
				r.witness.setRequested()
			}
			return err
		}
		if r.witness == nil {
			const why = "it is for rehearsals alone, and this agent runs without --rehearsal"
			if r.state.setProblem("command "+string(c.Command), why) {
				r.log.Printf("ignoring the command %s: %s", c.Command, why)
			}
			return nil
		}
		if !r.state.takeCommand(c.ID) {
			return nil
		}
		if c.Command == checkpoint.CommandKill {
			r.log.Printf("the rehearsal kills the trainer")
			r.killTrainer()
			return nil
		}
		cut := &cutOff{
			witness: r.witness, clock: r.clock, kill: r.killTrainer,
			request: func(try checkpoint.Command) error {
				defer r.state.setDelivered(c.ID)
				return deliver(r.opts, r.state, r.log, notify, try)
			},
		}
		go cut.run(ctx, c) // the reports go on
		return nil
	}
}

// takeCommand reports whether a command is new, and remembers it as delivered.
func (s *state) takeCommand(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deliveredID == id || s.takenID == id {
		return false
	}
	s.deliveredID, s.takenID = id, id
	return true
}

func (s *state) setDelivered(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deliveredID = id
}

// killTrainer kills all processes of the trainer, also those that have left its process group, as the end of
// its node would.
func (r *runner) killTrainer() {
	r.trainer.signalGroup(syscall.SIGKILL)
	signalAll(ownContainer(), r.clock, syscall.SIGKILL, endedStates)
}

// signalAll sends a signal to the trainer's processes, and reports whether all have reached one of the
// states, or are gone, in time. A busy machine needs a while for that.
func signalAll(c container, clock clock, s syscall.Signal, reached string) bool {
	for range signalRounds {
		all, _ := c.processes()
		missing := false
		for _, p := range all {
			if !strings.ContainsRune(reached, rune(p.state)) {
				missing = true
				_ = syscall.Kill(p.pid, s) // an error means that it has just ended
			}
		}
		if !missing {
			return true
		}
		<-clock.After(time.Millisecond)
	}
	return false
}

// cutOff requests saves, and kills the trainer in the middle of one. The earlier saves of the attempts show
// how long one takes; if one ends before the kill, the next kill comes earlier.
type cutOff struct {
	witness *witness
	clock   clock
	request func(checkpoint.Command) error
	kill    func()
}

// run ends with the trainer dead, also if no save was met: the attempt must end.
func (c *cutOff) run(ctx context.Context, command checkpoint.Command) {
	deadline := c.clock.Now().Add(cutOffTime)
	if d := command.Deadline; d != nil && d.Before(deadline) {
		deadline = *d
	}
	delay := c.witness.longestSave() / 2
	for try := range cutOffTries {
		id := fmt.Sprintf("%.58s-%d", command.ID, try+1)
		c.witness.setTries(int32(try + 1))
		mark := c.witness.markSaves()
		request := checkpoint.Command{Command: checkpoint.CommandCheckpoint, ID: id, Deadline: command.Deadline}
		if c.request(request) == nil && c.meet(ctx, id, mark, delay, deadline) {
			return
		}
		if ctx.Err() != nil {
			return
		}
		if delay /= 2; try+3 > cutOffTries {
			delay = 0
		}
	}
	c.kill()
}

// meet waits for the save of a request, and kills the trainer while it is written. It reports false if the
// save ended before.
func (c *cutOff) meet(
	ctx context.Context, id string, mark savesMark, delay time.Duration, deadline time.Time,
) bool {
	var began time.Time
	for {
		select {
		case <-ctx.Done():
			return false
		case <-c.clock.After(witnessPoll):
		}
		now := c.clock.Now()
		c.witness.lookAtSaves()
		seen := c.witness.since(mark)
		if began.IsZero() && seen.changed {
			began = now
		}
		switch {
		case c.witness.hasCarriedOut(id):
			return false
		case !now.Before(deadline), seen.changed && now.Sub(seen.lastAt) >= quietTime:
			return false
		case seen.changed && now.Sub(began) >= delay && c.killInWrite(mark, now.Sub(began)):
			return true
		}
	}
}

// killInWrite kills the trainer if it has a file of a save open for writing. It stops the trainer for the
// look: otherwise the save could end before the kill, and would be taken for a torn one that looks complete.
func (c *cutOff) killInWrite(mark savesMark, after time.Duration) bool {
	w := c.witness
	if w.openSave(mark) == "" {
		return false
	}
	// One that waits for a disk does nothing else.
	stopped := signalAll(w.container, c.clock, syscall.SIGSTOP, endedStates+"TtD")
	file := w.openSave(mark)
	if !stopped || file == "" {
		all, _ := w.container.processes()
		for _, p := range all { // also one that has not stopped yet: the signal may be on its way
			_ = syscall.Kill(p.pid, syscall.SIGCONT)
		}
		return false
	}
	w.setCutOff(file, after) // before the end, so that the last look at the volume has it
	c.kill()
	return true
}

// savesMark is the state of the attempt's directory at a request.
type savesMark struct {
	changes int
	// open are the files that were open for writing, such as logs.
	open []string
}

// savesSeen is whether files have changed there since, and when the last one has.
type savesSeen struct {
	changed bool
	lastAt  time.Time
}

func (w *witness) markSaves() savesMark {
	w.lookAtSaves()
	open := w.openForWriting()
	w.mu.Lock()
	defer w.mu.Unlock()
	return savesMark{w.watch.changes, open}
}

func (w *witness) since(m savesMark) savesSeen {
	w.mu.Lock()
	defer w.mu.Unlock()
	return savesSeen{w.watch.changes > m.changes, w.watch.lastAt}
}

// hasCarriedOut reports whether the trainer reports a command as carried out.
func (w *witness) hasCarriedOut(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status != nil && w.status.CommandID == id
}

// longestSave of this attempt and of earlier ones.
func (w *witness) longestSave() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	longest := w.recorder.Trace.SaveMilliseconds
	for _, t := range w.others {
		longest = max(longest, t.SaveMilliseconds)
	}
	return time.Duration(longest) * time.Millisecond
}

func (w *witness) setTries(n int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recorder.Trace.CutOffTries, w.written = n, false
}

// openForWriting returns the paths below the checkpoint directory of the files that the trainer has open for
// writing.
func (w *witness) openForWriting() (paths []string) {
	all, _ := w.container.processes()
	left := maxOpenFiles
	for _, p := range all {
		for _, f := range w.container.openFiles(p.pid, &left) {
			if rel, inside := w.relative(f.path); inside && f.writes && !isLogFile(rel) {
				paths = append(paths, rel)
			}
		}
	}
	return paths
}

// openSave returns a file that is open for writing, and was not at the mark; empty: none.
func (w *witness) openSave(mark savesMark) string {
	for _, rel := range w.openForWriting() {
		if !slices.Contains(mark.open, rel) {
			return rel
		}
	}
	return ""
}

// setCutOff records the directory of the file that was being written; of a file directly in the attempt's
// directory, the file.
func (w *witness) setCutOff(file string, after time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	save := path.Dir(file)
	if save == w.watch.prefix {
		save = file
	}
	t := &w.recorder.Trace
	t.CutOffPath, t.CutOffMilliseconds, w.written = w.pathText(save), max(after.Milliseconds(), 1), false
}
