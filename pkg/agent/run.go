package agent

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/reportclient"
)

// lastObserveTimeout bounds the look at the volume after the trainer's end; reportclient.LastTimeout
// bounds the report after that. The pod's grace period must exceed the trainer's by the sum of both.
const lastObserveTimeout = 3 * time.Second

// forwarded signals. Those that end a process may go to the trainer's group (options.signalGroup). The
// others never do, because a process without a handler dies of them. SIGURG is used by Go's runtime, and
// SIGCHLD by the agent.
var forwarded = []os.Signal{
	syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP,
	syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGCONT,
}

func endsProcess(s syscall.Signal) bool {
	return s == syscall.SIGTERM || s == syscall.SIGINT || s == syscall.SIGQUIT || s == syscall.SIGHUP
}

func runCommand(args []string, env func(string) string, stderr io.Writer) int {
	o, err := parseRun(args, env, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "agent:", err)
		return 2
	}
	r := &runner{opts: o, clock: wallClock{}, stderr: stderr, log: log.New(stderr, "agent: ", 0)}
	return r.run()
}

// runner runs one trainer.
type runner struct {
	opts   *options
	clock  clock
	stderr io.Writer
	log    *log.Logger

	state   *state
	trainer *trainer
	// witness is nil outside rehearsals.
	witness *witness
	// killed: the trainer was killed after its grace period.
	killed bool
}

// run returns the trainer's exit code.
func (r *runner) run() int {
	becomeSubreaper()
	r.state = newState()
	r.removeOldFiles()
	if path := r.opts.settingsFile; path != "" {
		if err := writeSettings(path, r.opts.settings); err != nil {
			r.state.setProblem("settings file", err.Error())
			r.log.Print(err)
		}
	}
	// The handlers come before the start: otherwise a signal or an early end is missed. SIGPIPE is caught so
	// that a closed log does not end the agent. The trainer inherits the default handling of all caught
	// signals.
	signals, children, pipe := make(chan os.Signal, 16), make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(signals, forwarded...)
	signal.Notify(children, syscall.SIGCHLD)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(signals)
	defer signal.Stop(children)

	if r.opts.askResume && r.opts.server.url != "" {
		r.state.start = newStart()
		if ended := r.askResume(signals); ended != 0 {
			return r.endedBeforeStart(ended)
		}
	}
	stopKubeflow := r.serveKubeflow()
	defer stopKubeflow()
	stderr, err := r.start()
	if err != nil {
		return r.notStarted(err)
	}
	finish := r.observeAndReport()
	r.supervise(signals, children)
	r.trainer.signalGroup(syscall.SIGKILL) // as the end of PID 1 would
	log := stderr.last(r.clock)
	r.state.setEnded()
	finish()
	t := terminationOf(r.state, r.opts.attempt, r.trainer.wait, r.killed, log)
	if err := writeTermination(r.opts.terminationLog, t); err != nil {
		r.log.Print(err)
	}
	r.log.Printf("the trainer ended: %s, exit code %d", t.Reason, t.ExitCode)
	return int(t.ExitCode)
}

// removeOldFiles removes what an earlier container left in a shared volume: its status would be taken for
// this trainer's, and its command would be carried out again.
func (r *runner) removeOldFiles() {
	paths := []string{r.opts.statusFile, r.opts.commandFile, r.opts.settingsFile}
	for _, name := range beatFileNames(r.opts.beatFile) {
		paths = append(paths, filepath.Join(filepath.Dir(r.opts.beatFile), name))
	}
	for _, path := range paths {
		if info, err := os.Lstat(path); path != "" && err == nil && info.Mode().IsRegular() {
			if err := os.Remove(path); err != nil {
				r.log.Printf("removing what an earlier run left: %v", err)
			}
		}
	}
}

func (r *runner) start() (*stderrTail, error) {
	tail, w, err := teeStderr(r.stderr)
	if err != nil {
		return nil, &startError{126, err}
	}
	defer w.Close()
	r.trainer, err = startTrainer(r.opts.command, w)
	return tail, err
}

// endedBeforeStart is the exit code of a trainer that a signal ended before it was started.
func (r *runner) endedBeforeStart(s syscall.Signal) int {
	code := 128 + int(s)
	t := checkpoint.Termination{
		Reason: checkpoint.ExitSignaled, ExitCode: int32(code), Signal: signalName(s), Attempt: r.opts.attempt,
	}
	if err := writeTermination(r.opts.terminationLog, t); err != nil {
		r.log.Print(err)
	}
	return code
}

func (r *runner) notStarted(err error) int {
	r.log.Print(err)
	code := 126
	if failed, ok := errors.AsType[*startError](err); ok {
		code = failed.code
	}
	t := checkpoint.Termination{
		Reason: checkpoint.ExitStartFailed, ExitCode: int32(code), Attempt: r.opts.attempt,
		Problem: checkpoint.Printable(err.Error(), 512),
	}
	if err := writeTermination(r.opts.terminationLog, t); err != nil {
		r.log.Print(err)
	}
	return code
}

// observeAndReport starts the observer, the beats and the reporter. finish stops them after one last look and
// one last report. Each of these is bounded: a volume or a server that hangs must not keep the pod.
func (r *runner) observeAndReport() (finish func()) {
	o := newObserver(r.opts, r.state, r.clock, r.log)
	stopObserving, observed := make(chan struct{}), make(chan struct{})
	ctx, stopReporting := context.WithCancel(context.Background())
	if r.opts.rehearsal {
		r.witness = newWitness(r.opts, r.state, r.clock, r.log)
		r.witness.run(ctx)
		o.onFound = r.witness.takeFound
	}
	go func() {
		defer close(observed)
		o.run(stopObserving)
		if r.witness != nil {
			r.witness.finish()
		}
	}()
	var reporter *reportclient.Reporter
	var reports sync.WaitGroup
	if r.opts.server.url != "" && r.opts.rank == 0 {
		notify := func(s syscall.Signal) { r.trainer.signal(s, false) }
		reporter = newReporter(r.opts, r.state, r.clock, r.log, notify)
		if r.witness != nil {
			r.witness.reportEvidence(reporter)
		}
		r.obeyRehearsal(ctx, reporter, notify)
		reports.Go(func() { reporter.Run(ctx) })
	}
	if r.opts.server.url != "" && r.opts.beatFile != "" {
		w := newWatcher(r.opts, r.state, r.clock, r.log)
		go w.run(ctx) // not waited for: a disk may hang
		reports.Go(func() { w.post(ctx) })
	}
	return func() {
		if r.witness != nil {
			r.witness.setExit(int32(exitCode(r.trainer.wait)))
		}
		close(stopObserving)
		select {
		case <-observed:
		case <-r.clock.After(lastObserveTimeout):
			r.state.setProblem("last look", "the volume did not answer in time")
		}
		stopReporting()
		reports.Wait() // posts end with the context
		if reporter != nil {
			if err := reporter.PostLast(context.Background()); err != nil {
				r.log.Printf("the last report was not taken: %v", err)
			}
		}
	}
}

// supervise forwards signals and reaps children until the trainer has ended. After SIGTERM, what the trainer
// leaves of its group gets SIGTERM, and the rest of the grace period: a shell in front of the real trainer
// ends at once (sh -c "python train.py; true").
func (r *runner) supervise(signals, children <-chan os.Signal) {
	var grace <-chan time.Time
	asked := false // the whole group
	for {
		if ended := r.trainer.reap(); ended && (grace == nil || !r.trainer.leavesGroup()) {
			return
		} else if ended && !asked {
			asked = true
			r.trainer.signalGroup(syscall.SIGTERM)
		}
		select {
		case <-children:
		case s := <-signals:
			sig := s.(syscall.Signal)
			if endsProcess(sig) {
				r.state.setStopping()
			}
			r.trainer.signal(sig, r.opts.signalGroup && endsProcess(sig))
			asked = asked || sig == syscall.SIGTERM && r.opts.signalGroup
			if sig == syscall.SIGTERM && grace == nil {
				grace = r.clock.After(r.opts.grace)
				if r.witness != nil {
					r.witness.setStopped()
				}
				go r.askToExit() // in the background: the disk may hang
			}
		case <-grace:
			r.log.Printf("the trainer still runs %s after SIGTERM: killing it", r.opts.grace)
			r.killed = !r.trainer.hasExited()
			r.trainer.signalGroup(syscall.SIGKILL)
			grace = nil
		}
	}
}

// askToExit writes the command file, for trainers that do not handle signals.
func (r *runner) askToExit() {
	if r.opts.commandFile == "" {
		return
	}
	c := checkpoint.Command{Command: checkpoint.CommandCheckpointAndExit, ID: "sigterm"}
	if at := r.clock.Now().Add(r.opts.grace).UTC().Truncate(time.Second); plausible(at) {
		c.Deadline = &at
	}
	if err := writeCommand(r.opts.commandFile, c); err != nil {
		r.state.setProblem("command file", err.Error())
		r.log.Print(err)
	}
}
