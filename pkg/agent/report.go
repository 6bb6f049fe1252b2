package agent

import (
	"context"
	"log"
	"syscall"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/reportclient"
)

// newReporter reports the state, and hands the operator's commands to the trainer. notify sends the
// trainer a signal with each command, if it wants one.
//
// Errors of the server are only logged. They are no problem of the state: by the time the server could
// read of them they are over, and a termination message with a problem makes the operator search the
// volume.
func newReporter(o *options, s *state, c clock, l *log.Logger,
	notify func(syscall.Signal)) *reportclient.Reporter {
	client := o.server.client()
	settings := &settingsFile{path: o.settingsFile, state: s, log: l, written: o.settings}
	return &reportclient.Reporter{
		Post: func(ctx context.Context, r checkpoint.Report) (*checkpoint.Answer, error) {
			a, err := client.Post(ctx, r)
			if err == nil {
				s.confirm(r, a)
				settings.take(a)
			}
			return a, err
		},
		Report:        func() checkpoint.Report { return s.report(o.attempt) },
		HandleCommand: func(c checkpoint.Command) error { return deliver(o, s, l, notify, c) },
		OnError: func(err error) {
			if err != nil {
				l.Printf("%v: trying again", err)
			} else {
				l.Printf("reports arrive again")
			}
		},
		News:  s.news,
		After: c.After,
	}
}

// deliver hands a command to the trainer once, although every answer repeats it.
func deliver(o *options, s *state, l *log.Logger, notify func(syscall.Signal), c checkpoint.Command) error {
	s.mu.Lock()
	delivered := s.deliveredID == c.ID
	s.mu.Unlock()
	if delivered {
		return nil
	}
	if c.Command == checkpoint.CommandCheckpointAndExit {
		s.setStopping()
	}
	if err := writeCommand(o.commandFile, c); err != nil {
		if s.setProblem("command file", err.Error()) {
			l.Printf("writing command %s: %v", c.Command, err)
		}
		return err
	}
	s.setProblem("command file", "")
	l.Printf("sent the command %s to the trainer", c.Command)
	s.mu.Lock()
	s.deliveredID = c.ID
	s.mu.Unlock()
	if o.checkpointSignal != 0 {
		notify(o.checkpointSignal)
	}
	return nil
}
