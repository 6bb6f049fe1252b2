package agent

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/reportclient"
)

// askTime bounds how long a start waits for the operator's answer. After that the trainer starts from the
// resume point of its environment: an operator that is down must not keep it for ever.
const askTime = time.Minute

// askResume asks for the latest resume point until there is an answer, a signal that ends the process, or
// askTime is over.
func (r *runner) askResume(signals <-chan os.Signal) (ended syscall.Signal) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	type answer struct {
		path string
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		path, err := askUntilAnswered(ctx, r.opts.server, r.opts.attempt, r.clock, r.clock.Now().Add(askTime))
		answered <- answer{path, err}
	}()
	for {
		select {
		case s := <-signals:
			if sig := s.(syscall.Signal); endsProcess(sig) {
				return sig
			}
		case a := <-answered:
			if a.err != nil {
				r.state.setProblem("resume point", "it is the one of the environment: "+a.err.Error())
				r.log.Printf("asking for the resume point: %v; starting from the one of the environment", a.err)
				return 0
			}
			r.opts.pinned = a.path
			if err := os.Setenv(checkpoint.EnvResume, a.path); err != nil {
				r.log.Print(err)
			}
			return 0
		}
	}
}

// askUntilAnswered asks again after errors, until a deadline.
func askUntilAnswered(
	ctx context.Context, s server, attempt int32, c clock, deadline time.Time,
) (string, error) {
	client := s.client()
	defer client.Close()
	for wait := reportclient.FirstBackoff; ; wait = min(2*wait, 10*time.Second) {
		one, cancel := context.WithTimeout(ctx, reportclient.PostTimeout)
		path, err := client.AskResume(one, attempt)
		cancel()
		wait = max(wait, min(reportclient.RetryAfter(err), 10*time.Second))
		if err == nil || !c.Now().Add(wait).Before(deadline) {
			return path, err
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-c.After(wait):
		}
	}
}

// resumeCommand prints what a process that starts now resumes from. It is for programs that restart their own
// processes, such as torchrun. Without a report server it prints the resume point of the environment.
func resumeCommand(args []string, env func(string) string, stdout, stderr io.Writer) int {
	f := flag.NewFlagSet("agent resume", flag.ContinueOnError)
	f.SetOutput(stderr)
	server := serverFlags(f, env)
	wait := f.Duration("wait", askTime, "how long to wait for the operator's answer")
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil || f.NArg() > 0:
		return 2
	}
	path := env(checkpoint.EnvResume)
	if server.url != "" {
		attempt, err := parseNumber("attempt", env(checkpoint.EnvAttempt), 1, 1, maxAttempt)
		if err = errors.Join(err, server.validate()); err == nil {
			c := wallClock{}
			path, err = askUntilAnswered(context.Background(), *server, int32(attempt), c, c.Now().Add(*wait))
		}
		if err != nil {
			fmt.Fprintln(stderr, "agent: asking for the resume point:", err)
			return 1
		}
	}
	fmt.Fprintln(stdout, path)
	return 0
}
