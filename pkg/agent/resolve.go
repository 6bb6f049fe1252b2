package agent

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/reportclient"
)

// resolveTries bounds how often the result is posted. The termination message has it too.
const resolveTries = 6

// resolver finds the latest complete checkpoint and publishes it.
type resolver struct {
	*resolveOptions
	clock          clock
	stdout, stderr io.Writer
}

// resolveCommand searches every volume, prints the result as a report in JSON, posts it, and leaves it as
// the termination message. That there is no checkpoint is a result too. The exit code is 0 if the result
// was published in at least one of these ways.
func resolveCommand(args []string, env func(string) string, stdout, stderr io.Writer) int {
	o, err := parseResolve(args, env, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "agent:", err)
		return 2
	}
	r := &resolver{resolveOptions: o, clock: wallClock{}, stdout: stdout, stderr: stderr}
	return r.run()
}

func (r *resolver) run() int {
	report, err := search(newScanner(r.clock), r.resolveOptions)
	if err != nil {
		fmt.Fprintln(r.stderr, "agent:", err)
		r.writeTermination(checkpoint.Termination{
			Reason: checkpoint.ExitFailed, ExitCode: 1, Attempt: r.attempt,
			Problem: checkpoint.Printable(err.Error(), 512),
		})
		return 1
	}
	data, err := checkpoint.Encode(report)
	if err != nil {
		fmt.Fprintln(r.stderr, "agent:", err)
		return 1
	}
	_, printErr := fmt.Fprintln(r.stdout, string(data))
	written := r.writeTermination(checkpoint.Termination{
		Reason: checkpoint.ExitResolved, Attempt: r.attempt, Phase: checkpoint.PhaseResolved,
		Checkpoint: report.Checkpoint,
		Layout:     report.Layout, PassedOver: report.PassedOver,
	})
	if r.server.url != "" {
		if err := r.post(report); err != nil {
			fmt.Fprintln(r.stderr, "agent: the result was not taken:", err)
			if !written {
				return 1
			}
		}
	} else if printErr != nil && !written {
		return 1
	}
	return 0
}

func (r *resolver) writeTermination(t checkpoint.Termination) bool {
	if r.terminationLog == "" {
		return false
	}
	if err := writeTermination(r.terminationLog, t); err != nil {
		fmt.Fprintln(r.stderr, "agent:", err)
		return false
	}
	return true
}

func (r *resolver) post(report checkpoint.Report) error {
	c := r.server.client()
	var err error
	for try := range resolveTries {
		ctx, cancel := context.WithTimeout(context.Background(), reportclient.PostTimeout)
		_, err = c.Post(ctx, report)
		cancel()
		if err == nil {
			return nil
		}
		wait := max(reportclient.FirstBackoff<<try, min(reportclient.RetryAfter(err), time.Minute))
		if try+1 < resolveTries {
			<-r.clock.After(wait)
		}
	}
	return err
}
