package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/reportclient"
)

// lastLook bounds the look at the volume after the trainer's end, as reportclient.LastTimeout does the report after that. The pod's grace
// must be longer than the trainer's by their sum.
const lastLook = 3 * time.Second

// forwarded signals. Those that ask for the end may go to the group, see options.signalGroup; the others never do, for a process
// that has no handler dies of them. SIGURG is Go's own; SIGCHLD is ours.
var forwarded = []os.Signal{
	syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGCONT,
}

func asksForTheEnd(s syscall.Signal) bool {
	return s == syscall.SIGTERM || s == syscall.SIGINT || s == syscall.SIGQUIT || s == syscall.SIGHUP
}

func runCommand(args []string, stderr io.Writer) int {
	o, err := parseRun(args, getenv, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "agent:", err)
		return 2
	}
	a := &agent{opts: o, clock: wallClock{}, stderr: stderr, log: log.New(stderr, "agent: ", 0)}
	return a.run()
}

// agent runs one trainer.
type agent struct {
	opts   *options
	clock  clock
	stderr io.Writer
	log    *log.Logger

	view    *view
	trainer *process
	killed  bool
}

// run returns the trainer's exit code.
func (a *agent) run() int {
	becomeSubreaper()
	a.view = newView()
	a.clean()
	// Before the start, else a signal or an early end is missed. SIGPIPE is caught so that a closed log does not end us; the
	// trainer gets its default back, as with every caught signal.
	signals, children, pipe := make(chan os.Signal, 16), make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(signals, forwarded...)
	signal.Notify(children, syscall.SIGCHLD)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(signals)
	defer signal.Stop(children)

	end, err := a.start()
	if err != nil {
		return a.notStarted(err)
	}
	finish := a.watch()
	a.supervise(signals, children)
	a.trainer.killRest()
	log := end.last(a.clock)
	finish()
	word := lastWord(a.view, a.opts, a.trainer.wait, a.killed, log)
	if err := writeTermination(a.opts.terminationLog, word); err != nil {
		a.log.Print(err)
	}
	a.log.Printf("the trainer ended: %s, exit code %d", word.Reason, word.ExitCode)
	return int(word.ExitCode)
}

// clean takes away what a container before this one left in a shared volume: an old status would be taken for this trainer's,
// an old command be carried out again.
func (a *agent) clean() {
	for _, path := range []string{a.opts.statusFile, a.opts.commandFile} {
		if info, err := os.Lstat(path); path != "" && err == nil && info.Mode().IsRegular() {
			if err := os.Remove(path); err != nil {
				a.log.Printf("removing what an earlier run left: %v", err)
			}
		}
	}
}

func (a *agent) start() (*tail, error) {
	end, w, err := follow(a.stderr)
	if err != nil {
		return nil, &startError{126, err}
	}
	defer w.Close()
	a.trainer, err = start(a.opts.command, w)
	return end, err
}

func (a *agent) notStarted(err error) int {
	a.log.Print(err)
	code := 126
	var se *startError
	if errors.As(err, &se) {
		code = se.code
	}
	word := checkpoint.Termination{
		Reason: checkpoint.ExitStartFailed, ExitCode: int32(code), Attempt: a.opts.attempt, Problem: checkpoint.Printable(err.Error(), 512),
	}
	if err := writeTermination(a.opts.terminationLog, word); err != nil {
		a.log.Print(err)
	}
	return code
}

// watch starts those who look and report. What it returns stops them: one last look, one last report, each bounded, for a volume or a
// server that hangs must not keep the pod.
func (a *agent) watch() (finish func()) {
	o := newObserver(a.opts, a.view, a.clock, a.log)
	stopLooking, looked := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(looked)
		o.follow(stopLooking)
	}()
	var r *reportclient.Reporter
	var reports sync.WaitGroup
	ctx, stopReporting := context.WithCancel(context.Background())
	if a.opts.server.url != "" && a.opts.rank == 0 {
		r = newReporter(a.opts, a.view, a.clock, a.log, func(s syscall.Signal) { a.trainer.signal(s, false) })
		reports.Go(func() { r.Run(ctx) })
	}
	return func() {
		close(stopLooking)
		select {
		case <-looked:
		case <-a.clock.After(lastLook):
			a.view.problem("last look", "the volume did not answer in time")
		}
		stopReporting()
		reports.Wait() // posts end with the context
		if r != nil {
			if err := r.PostLast(context.Background()); err != nil {
				a.log.Printf("the last report was not taken: %v", err)
			}
		}
	}
}

// supervise passes signals on and reaps until the trainer has ended.
func (a *agent) supervise(signals, children <-chan os.Signal) {
	var grace <-chan time.Time
	for !a.trainer.reap() {
		select {
		case <-children:
		case s := <-signals:
			sig := s.(syscall.Signal)
			a.trainer.signal(sig, a.opts.signalGroup && asksForTheEnd(sig))
			if sig == syscall.SIGTERM && grace == nil {
				grace = a.clock.After(a.opts.grace)
				go a.askToExit() // the disk may hang
			}
		case <-grace:
			a.log.Printf("the trainer still runs %s after SIGTERM: killing it", a.opts.grace)
			a.killed = true
			a.trainer.signal(syscall.SIGKILL, true)
			grace = nil
		}
	}
}

// askToExit tells trainers that look at the command file, and not at signals, that they are about to end.
func (a *agent) askToExit() {
	if a.opts.commandFile == "" {
		return
	}
	c := checkpoint.Command{Command: checkpoint.CommandCheckpointAndExit, ID: "sigterm"}
	if at := a.clock.Now().Add(a.opts.grace).UTC().Truncate(time.Second); at.Year() >= 2000 && at.Year() < 2200 {
		c.Deadline = &at
	}
	if err := writeCommand(a.opts.commandFile, c); err != nil {
		a.view.problem("command file", err.Error())
		a.log.Print(err)
	}
}
