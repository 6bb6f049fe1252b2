package main

import (
	"context"
	"errors"
	"log"
	"math/rand/v2"
	"syscall"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

const (
	// interval between reports until the operator asks for another; one report may take as long as postTimeout.
	interval     = 10 * time.Second
	postTimeout  = 10 * time.Second
	firstBackoff = time.Second
	lastBackoff  = time.Minute
	// hurry is the least time between two reports, also for news.
	hurry = time.Second
)

// reporter posts what the view holds and hands the answer's command over. The heartbeat is the command channel.
type reporter struct {
	opts   *options
	view   *view
	clock  clock
	log    *log.Logger
	client *client
	// notify sends a signal to the trainer.
	notify func(syscall.Signal)
	// jitter returns a number from 0 to 1.
	jitter func() float64

	min      time.Duration
	failures int
	pending  *checkpoint.Command
}

func newReporter(o *options, v *view, c clock, l *log.Logger, notify func(syscall.Signal)) *reporter {
	return &reporter{
		opts: o, view: v, clock: c, log: l, notify: notify, client: &client{server: o.server}, jitter: rand.Float64, min: interval,
	}
}

// follow reports until the context ends. News are told at once, except while the server is in trouble: then the backoff
// holds, and nothing is lost, for every report carries the newest commit.
func (r *reporter) follow(ctx context.Context) {
	wait := time.Duration(0)
	for {
		timer, news := r.clock.After(wait), r.view.news
		if r.failures > 0 {
			news = nil
		}
		select {
		case <-ctx.Done():
			return
		case <-timer:
		case <-news:
			select {
			case <-ctx.Done():
				return
			case <-r.clock.After(hurry):
			}
		}
		wait = r.once(ctx)
	}
}

// once reports and says how long to wait.
func (r *reporter) once(ctx context.Context) time.Duration {
	wait := r.report(ctx)
	if r.pending != nil {
		r.deliver()
	}
	if r.pending != nil { // it could not be written: long before the next heartbeat there may be room
		wait = min(wait, firstBackoff)
	}
	return wait
}

func (r *reporter) report(ctx context.Context) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	answer, err := r.client.post(ctx, r.view.report(r.opts.attempt))
	if err != nil {
		return r.failed(err)
	}
	if r.failures > 0 {
		r.log.Printf("reports arrive again")
	}
	r.failures = 0
	r.view.problem(aboutServer, "")
	if answer.MinIntervalSeconds > 0 {
		r.min = time.Duration(answer.MinIntervalSeconds) * time.Second
	}
	if answer.Command != checkpoint.CommandNone {
		r.take(checkpoint.Command{Command: answer.Command, ID: answer.ID, Deadline: answer.Deadline})
	}
	return r.min + time.Duration(float64(r.min)/10*r.jitter()) // never sooner than asked
}

func (r *reporter) failed(err error) time.Duration {
	if r.view.problem(aboutServer, err.Error()) {
		r.log.Printf("%v: trying again", err)
	}
	wait := min(firstBackoff<<min(r.failures, 10), lastBackoff)
	r.failures++
	wait = wait/2 + time.Duration(float64(wait/2)*r.jitter()) // so that the agents of all jobs do not come back together
	var pe *postError
	if errors.As(err, &pe) {
		wait = max(wait, pe.retryAfter)
	}
	return wait
}

// take remembers a command that was not handed over yet.
func (r *reporter) take(c checkpoint.Command) {
	r.view.mu.Lock()
	known := r.view.delivered == c.ID
	r.view.mu.Unlock()
	if !known {
		r.pending = &c
	}
}

func (r *reporter) deliver() {
	if err := writeCommand(r.opts.commandFile, *r.pending); err != nil {
		if r.view.problem("command file", err.Error()) {
			r.log.Printf("handing %s over: %v", r.pending.Command, err)
		}
		return
	}
	r.view.problem("command file", "")
	r.log.Printf("asked the trainer for %s", r.pending.Command)
	r.view.mu.Lock()
	r.view.delivered = r.pending.ID
	r.view.mu.Unlock()
	r.pending = nil
	if r.opts.checkpointSignal != 0 {
		r.notify(r.opts.checkpointSignal)
	}
}

// last reports once more, in a short time: the pod is about to end.
func (r *reporter) last(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lastReport)
	defer cancel()
	if _, err := r.client.post(ctx, r.view.report(r.opts.attempt)); err != nil {
		r.view.problem(aboutServer, err.Error())
		r.log.Printf("the last report was not taken: %v", err)
	} else {
		r.view.problem(aboutServer, "")
	}
}

func writeCommand(path string, c checkpoint.Command) error {
	if path == "" {
		return errors.New("the trainer has no command file: set $" + checkpoint.EnvCommandFile)
	}
	data, err := checkpoint.Encode(c)
	if err != nil {
		return err
	}
	return replaceBytes(path, data)
}
