package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// trainer is one rank.
type trainer struct {
	steps                   int64
	seed                    uint64
	pause                   time.Duration
	dieAtOnce, ignoreResume bool
	logFile                 string
	out                     io.Writer

	// From the environment.
	rank, world, attempt    int
	leader                  string
	interval                time.Duration
	dir, resumeFrom, jobUID string
	statusFile, commandFile string

	// whole is held while network and step do not belong together: whoever has it can save.
	whole      sync.Mutex
	network    network
	step       int64
	loss       float64
	saved      int64 // step of the last checkpoint; there is nothing to save before the first step
	carriedOut string
	stopped    bool // by a signal or a command: no step is trained any more
}

// run trains until the end, or until it is told to stop.
func (t *trainer) run(ctx context.Context) error {
	t.network = newNetwork(t.seed)
	if err := t.resume(); err != nil {
		return err
	}
	g, err := t.meet(ctx)
	if err != nil {
		if ctx.Err() != nil { // told to end before the training began: nothing is lost
			return nil
		}
		return err
	}
	over, listening := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(listening)
		t.listen(ctx, over)
		_ = g.close() // ends a sum that waits for a rank that is gone
	}()
	err = t.train(g)
	close(over)
	<-listening
	if t.stopped {
		return nil
	}
	return err
}

func (t *trainer) train(g *gang) error {
	lastSave := time.Now()
	if err := t.begin(); err != nil {
		return err
	}
	for t.step < t.steps {
		v := t.network.gradient(t.seed, t.step+1, t.rank)
		if err := g.sum(v); err != nil {
			return t.lost(err)
		}
		if stopped, err := t.take(v, &lastSave); err != nil || stopped {
			return err
		}
		if t.attempt == 1 || t.step < 50 {
			time.Sleep(t.pause)
		}
	}
	return t.end()
}

func (t *trainer) begin() error {
	t.whole.Lock()
	defer t.whole.Unlock()
	if err := t.log(line{Event: "start", Step: t.step, Resumed: t.resumeFrom}); err != nil {
		return err
	}
	return t.tell(checkpoint.PhaseTraining)
}

// take one step with the sum of all gradients.
func (t *trainer) take(sum []float64, lastSave *time.Time) (stopped bool, err error) {
	t.whole.Lock()
	defer t.whole.Unlock()
	if t.stopped {
		return true, nil
	}
	t.loss = t.network.descend(sum, t.world)
	t.step++
	// A float's hexadecimal form loses no bit.
	if err := t.log(line{Event: "step", Step: t.step, Loss: fmt.Sprintf("%x", t.loss)}); err != nil {
		return false, err
	}
	if time.Since(*lastSave) >= t.interval {
		if err := t.save("interval"); err != nil {
			return false, err
		}
		*lastSave = time.Now()
	}
	return false, t.tell(checkpoint.PhaseTraining)
}

// lost a peer: the last whole step is worth keeping.
func (t *trainer) lost(err error) error {
	t.whole.Lock()
	defer t.whole.Unlock()
	if t.dieAtOnce || t.stopped {
		return err
	}
	return errors.Join(fmt.Errorf("step %d: %w", t.step+1, err), t.save("peer"))
}

func (t *trainer) end() error {
	t.whole.Lock()
	defer t.whole.Unlock()
	if t.stopped {
		return nil
	}
	if err := t.save("end"); err != nil {
		return err
	}
	if err := t.log(line{Event: "end", Step: t.step, Weights: t.network.hash()}); err != nil {
		return err
	}
	return t.tell(checkpoint.PhaseCompleted)
}

// listen for SIGTERM, the end of ctx, and for commands, until one of them stops the training or it is over. What is saved is the last
// step that was whole: when another rank is gone, this one's step hangs.
func (t *trainer) listen(ctx context.Context, over <-chan struct{}) {
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	for {
		var command checkpoint.Command
		select {
		case <-over:
			return
		case <-ctx.Done():
		case <-look.C:
			if command = t.command(); command.ID == "" {
				continue
			}
		}
		if t.obey(command, ctx.Err() != nil || command.Command == checkpoint.CommandCheckpointAndExit) {
			return
		}
	}
}

// obey saves, and says whether the training stops here.
func (t *trainer) obey(command checkpoint.Command, stop bool) bool {
	t.whole.Lock()
	defer t.whole.Unlock()
	if t.step == t.steps { // all is trained: end does the rest
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
		if err := errors.Join(err, t.tell(checkpoint.PhaseTraining)); err != nil {
			fmt.Fprintln(os.Stderr, "gotrainer:", err)
		}
	}
	t.stopped = stop
	return stop
}

// command that rank 0 was given and has not carried out; it has no ID when there is none.
func (t *trainer) command() checkpoint.Command {
	if t.rank != 0 || t.commandFile == "" {
		return checkpoint.Command{}
	}
	data, err := os.ReadFile(t.commandFile)
	if err != nil {
		return checkpoint.Command{} // mostly: there is none
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
