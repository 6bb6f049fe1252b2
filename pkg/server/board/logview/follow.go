package logview

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"k8s.io/utils/clock"

	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Delays before the next attempt to open a log that has ended or cannot be opened, unless again is signalled.
const (
	firstRetry = 2 * time.Second
	lastRetry  = 30 * time.Second
)

// rankState is whether a rank's log is followed, and if not, why.
type rankState struct {
	following bool
	why       string
	// problem of opening it; nil if it has ended.
	problem *problem.Problem
}

var ended = rankState{why: "its container has ended"}

// rankNews is new lines of a rank, or its new state.
type rankNews struct {
	rank  int
	lines []Line
	pod   string // tag of the pod that wrote the lines
	state *rankState
}

// rankFollower follows one rank over restarts of its container and over its pods.
type rankFollower struct {
	index int
	rank  spec.RankRef
	from  Opener
	// opens limits the number of logs that are opened in parallel.
	opens chan struct{}
	to    chan<- rankNews
	clock clock.WithTicker
	// again signals that another attempt can succeed.
	again chan struct{}
	// options of the next log: from the position after the last line.
	options Options
}

// run until the context ends.
func (f *rankFollower) run(ctx context.Context) {
	for delay, quiet := firstRetry, false; ; {
		log, err := f.open(ctx)
		if err == nil {
			if !quiet {
				f.say(ctx, rankState{following: true})
			}
			var lines int
			if lines, err = f.read(ctx, log, quiet); lines > 0 {
				delay = firstRetry
			}
		} else if p := problem.Of(err); p.Status < http.StatusInternalServerError {
			f.options.TailLines = -1 // it has no log yet: all lines will be new
		}
		if ctx.Err() != nil {
			return
		}
		// An ended log is opened again to check whether it continues: its state changes only with a line.
		quiet = errors.Is(err, io.EOF)
		f.say(ctx, stateOf(err))
		timer := f.clock.NewTimer(delay)
		select {
		case <-ctx.Done():
		case <-f.again:
			delay, quiet = firstRetry, false
		case <-timer.C():
			delay = min(2*delay, lastRetry)
		}
		if timer.Stop(); ctx.Err() != nil {
			return
		}
	}
}

func stateOf(err error) rankState {
	if errors.Is(err, io.EOF) {
		return ended
	}
	p := problem.Of(err)
	return rankState{why: p.Error(), problem: p}
}

func (f *rankFollower) open(ctx context.Context) (Log, error) {
	select {
	case f.opens <- struct{}{}:
		defer func() { <-f.opens }()
	case <-ctx.Done():
		return Log{}, ctx.Err()
	}
	return f.from.Open(ctx, f.rank, f.options)
}

// read a log to its end or an error. It returns the number of new lines.
func (f *rankFollower) read(ctx context.Context, log Log, quiet bool) (lines int, err error) {
	// Reads do not always end with the context, but do when the log is closed.
	stop := context.AfterFunc(ctx, func() { _ = log.Close() })
	defer func() {
		if stop() {
			_ = log.Close()
		}
	}()
	at := f.options.After.in(log.Pod)
	readBatches(log, at, func(b batch) bool {
		err = b.err
		if len(b.lines) == 0 {
			return true
		}
		if lines == 0 && quiet {
			f.say(ctx, rankState{following: true})
		}
		lines += len(b.lines)
		for _, l := range b.lines {
			at = at.behind(l)
		}
		return f.send(ctx, rankNews{rank: f.index, lines: b.lines, pod: at.Pod})
	})
	if f.options.After = at; !at.Time.IsZero() {
		f.options.TailLines = -1
	}
	return lines, err
}

func (f *rankFollower) say(ctx context.Context, s rankState) {
	f.send(ctx, rankNews{rank: f.index, state: &s})
}

func (f *rankFollower) send(ctx context.Context, n rankNews) bool {
	select {
	case f.to <- n:
		return true
	case <-ctx.Done():
		return false
	}
}
