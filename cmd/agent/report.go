package main

import (
	"errors"
	"log"
	"syscall"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/reportclient"
)

// newReporter posts what the view holds and hands the operator's commands to the trainer, which notify sends a signal where it wants one.
//
// Trouble with the server is told the log alone: the server that would read of it is there again by then, and the operator does not
// believe a last word that has a problem: it would search a volume that is well.
func newReporter(o *options, v *view, c clock, l *log.Logger, notify func(syscall.Signal)) *reportclient.Reporter {
	return &reportclient.Reporter{
		Post: o.server.client().Post, Report: func() checkpoint.Report { return v.report(o.attempt) }, News: v.news, After: c.After,
		HandleCommand: func(c checkpoint.Command) error { return take(o, v, l, notify, c) },
		OnError: func(err error) {
			if err != nil {
				l.Printf("%v: trying again", err)
			} else {
				l.Printf("reports arrive again")
			}
		},
	}
}

// take a command and hand it to the trainer, once.
func take(o *options, v *view, l *log.Logger, notify func(syscall.Signal), c checkpoint.Command) error {
	v.mu.Lock()
	known := v.delivered == c.ID
	v.mu.Unlock()
	if known {
		return nil
	}
	if err := writeCommand(o.commandFile, c); err != nil {
		if v.problem("command file", err.Error()) {
			l.Printf("handing %s over: %v", c.Command, err)
		}
		return err
	}
	v.problem("command file", "")
	l.Printf("asked the trainer for %s", c.Command)
	v.mu.Lock()
	v.delivered = c.ID
	v.mu.Unlock()
	if o.checkpointSignal != 0 {
		notify(o.checkpointSignal)
	}
	return nil
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
