package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// trainer is one rank.
type trainer struct {
	// Set by flags.
	steps                   int64
	seed                    uint64
	pause                   time.Duration
	dieAtOnce, ignoreResume bool
	log                     eventLog

	// Set by the environment.
	member
	interval                time.Duration
	dir, resumeFrom, jobUID string
	statusFile, commandFile string
	settingsFile, beatFile  string
	rehearsal               bool

	// mu guards the rest. While it is free, network and step belong together, so its holder can save.
	mu         sync.Mutex
	network    network
	step       int64
	loss       float64
	saved      int64 // step of the last checkpoint; there is nothing to save before the first step
	carriedOut string
	stopped    bool // by a signal or a command: no further step is trained
	// What rehearsals compare: what was loaded, and the weights then.
	loaded, weights string
}

// run trains until the last step, or until ctx is cancelled.
func (t *trainer) run(ctx context.Context) error {
	t.network = newNetwork(t.seed)
	if err := t.resume(); err != nil {
		return err
	}
	g, err := connect(ctx, t.member)
	if err != nil {
		if ctx.Err() != nil { // stopped before the training began: nothing is lost
			return nil
		}
		return err
	}
	trained, listened := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(listened)
		t.listen(ctx, trained)
		_ = g.close() // unblocks a sum that waits for a rank that is gone
	}()
	err = t.train(g)
	close(trained)
	<-listened
	if t.stopped {
		return nil
	}
	return err
}

// train trains all steps that are left.
func (t *trainer) train(g *gang) error {
	lastSave := time.Now()
	if err := t.begin(); err != nil {
		return err
	}
	for t.step < t.steps {
		v := t.network.gradient(t.seed, t.step+1, t.rank)
		if err := g.sum(v); err != nil {
			return t.peerLost(err)
		}
		if stopped, err := t.apply(v, &lastSave); err != nil || stopped {
			return err
		}
		if t.attempt == 1 || t.step < 50 || t.rehearsal {
			time.Sleep(t.pause)
		}
	}
	return t.end()
}

// resume loads the checkpoint that the operator gave the gang to resume from.
func (t *trainer) resume() error {
	if t.resumeFrom != "" && !t.ignoreResume {
		s, err := readCheckpoint(t.resumeFrom)
		if err != nil {
			return err
		}
		t.network, t.step, t.saved, t.loaded = s.network, s.Step, s.Step, t.resumeFrom
	}
	t.weights = t.network.hash()
	return nil
}

// save writes a checkpoint and logs why. Only rank 0 does, and only after a new step. The caller holds mu.
func (t *trainer) save(why string) error {
	if t.rank != 0 || t.dir == "" || t.saved == t.step {
		return nil
	}
	t.beat(checkpoint.PhaseSaving)
	defer t.beat(checkpoint.PhaseTraining)
	err := writeCheckpoint(t.dir, state{t.step, t.network}, checkpoint.Manifest{
		Version: 1, JobUID: t.jobUID, Attempt: int32(t.attempt), Step: t.step,
		WorldSize: int32(t.worldSize), Framework: "gotrainer",
	})
	if err != nil {
		return err
	}
	t.saved = t.step
	return t.log.write(line{Event: "save", Step: t.step, Why: why})
}

// writeStatus reports the progress. Rank 0 does it; in a rehearsal each rank reports what it has loaded. The
// caller holds mu.
func (t *trainer) writeStatus(phase checkpoint.Phase) error {
	reports := t.rank == 0 || t.rehearsal && t.loss == 0
	if !reports || t.statusFile == "" {
		return nil
	}
	status := checkpoint.Status{
		Step: t.step, TotalSteps: t.steps, Phase: phase, CommandID: t.carriedOut,
		Weights: t.weights[:16], Loaded: t.loaded,
	}
	if t.loss > 0 { // 0 before this attempt's first step
		status.Batch = batchOf(t.seed, t.step, t.rank)
		loss := strconv.FormatFloat(t.loss, 'g', -1, 64)
		status.Metrics = map[string]checkpoint.Metric{"loss": checkpoint.Metric(loss)}
	}
	data, err := checkpoint.Encode(status)
	if err != nil {
		return err
	}
	return replaceFile(t.statusFile, data, false)
}

// beat shows the progress of every rank, so that the operator finds a rank that hangs. The caller holds mu.
func (t *trainer) beat(phase checkpoint.Phase) {
	if t.beatFile == "" {
		return
	}
	f, err := os.OpenFile(t.beatFile, os.O_WRONLY|os.O_CREATE, 0o644)
	if err == nil {
		_, err = f.WriteAt(fmt.Appendf(nil, "%d %-52s\n", t.step, phase), 0)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotrainer:", err) // the training does not depend on it
	}
}

func (t *trainer) begin() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.log.write(line{Event: "start", Step: t.step, Resumed: t.resumeFrom}); err != nil {
		return err
	}
	return t.writeStatus(checkpoint.PhaseTraining)
}

// apply takes one step with the sum of all gradients.
func (t *trainer) apply(sum []float64, lastSave *time.Time) (stopped bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return true, nil
	}
	t.loss = t.network.descend(sum, t.worldSize)
	t.step++
	t.beat(checkpoint.PhaseTraining)
	// The hexadecimal form of a float loses no bit.
	if err := t.log.write(line{Event: "step", Step: t.step, Loss: fmt.Sprintf("%x", t.loss)}); err != nil {
		return false, err
	}
	if time.Since(*lastSave) >= t.currentInterval() {
		if err := t.save("interval"); err != nil {
			return false, err
		}
		*lastSave = time.Now()
	}
	return false, t.writeStatus(checkpoint.PhaseTraining)
}

// currentInterval is the longest time between two checkpoints, as the job says now. The environment says what
// held when the attempt began.
func (t *trainer) currentInterval() time.Duration {
	data, err := os.ReadFile(t.settingsFile)
	if err != nil {
		return t.interval
	}
	settings, err := checkpoint.ParseSettings(data)
	if err != nil {
		return t.interval
	}
	return time.Duration(settings.IntervalSeconds) * time.Second
}

// peerLost saves the last complete step after a peer is gone.
func (t *trainer) peerLost(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dieAtOnce || t.stopped {
		return err
	}
	return errors.Join(fmt.Errorf("step %d: %w", t.step+1, err), t.save("peer"))
}

func (t *trainer) end() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return nil
	}
	if err := t.save("end"); err != nil {
		return err
	}
	if err := t.log.write(line{Event: "end", Step: t.step, Weights: t.network.hash()}); err != nil {
		return err
	}
	return t.writeStatus(checkpoint.PhaseCompleted)
}

// listen obeys commands and SIGTERM, which ends ctx, until one of them stops the training or all steps are
// trained. It runs beside the training, and saves the last complete step: when a peer is gone, the current
// step hangs.
func (t *trainer) listen(ctx context.Context, trained <-chan struct{}) {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		var command checkpoint.Command
		select {
		case <-trained:
			return
		case <-ctx.Done():
		case <-ticker.C:
			if command = t.newCommand(); command.ID == "" {
				continue
			}
		}
		if t.obey(command, ctx.Err() != nil || command.Command == checkpoint.CommandCheckpointAndExit) {
			return
		}
	}
}

// obey saves, and reports whether the training stops here. A zero command is SIGTERM.
func (t *trainer) obey(command checkpoint.Command, stop bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.step == t.steps { // all steps are trained; end saves them
		return stop
	}
	if t.rank == 0 && !t.dieAtOnce {
		why := "signal"
		if command.ID != "" {
			why = "command " + command.ID
		}
		err := t.save(why)
		if err == nil && command.ID != "" {
			t.carriedOut = command.ID
		}
		if err := errors.Join(err, t.writeStatus(checkpoint.PhaseTraining)); err != nil {
			fmt.Fprintln(os.Stderr, "gotrainer:", err)
		}
	}
	t.stopped = stop
	return stop
}

// newCommand returns the command that rank 0 was given and has not carried out; its ID is empty if there is
// none.
func (t *trainer) newCommand() checkpoint.Command {
	if t.rank != 0 || t.commandFile == "" {
		return checkpoint.Command{}
	}
	data, err := os.ReadFile(t.commandFile)
	if err != nil {
		return checkpoint.Command{} // usually because there is none
	}
	c, err := checkpoint.ParseCommand(data)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotrainer:", err)
		return checkpoint.Command{}
	}
	if c.ID == t.carriedOut {
		return checkpoint.Command{}
	}
	return *c
}
