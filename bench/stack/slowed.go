package stack

import (
	"context"
	"sync"
	"time"

	"mlplatform.example.com/trainingjob-operator/bench/measure"
	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// slowed is another stack whose programs stand still for a sixth of the time, which makes everything that
// they do take 1.2 times as long. It is a check on the harness: a difference of 20% must be found.
type slowed struct{ Stack }

// Slowed is a stack slowed by 20%.
func Slowed(s Stack) Stack { return slowed{s} }

// Check is the stack with which the harness itself is checked.
func Check() Stack { return Slowed(Raw(localcluster.SchedulerVolcano)) }

const (
	// slowedPeriod is long compared with the cost of stopping: each thread of a dozen programs wakes up for it,
	// twice.
	slowedPeriod = 300 * time.Millisecond
	slowedStop   = slowedPeriod / 6
)

func (s slowed) Describe() result.Stack {
	d := s.Stack.Describe()
	d.Name, d.Title = "slowed/"+d.Name, d.Title+", slowed by 20% on purpose"
	d.Settings = append(d.Settings, result.Setting{
		Program: "all", Name: "stopped", Value: slowedStop.String() + " of every " + slowedPeriod.String(),
	})
	return d
}

func (s slowed) Start(ctx context.Context, e Environment) (Session, error) {
	inner, err := s.Stack.Start(ctx, e)
	if err != nil {
		return nil, err
	}
	stopping, stop := context.WithCancel(context.WithoutCancel(ctx))
	session := &slowedSession{Session: inner, stop: stop}
	session.done.Go(func() { StandStill(stopping, measure.PIDs, slowedPeriod, slowedStop) })
	if minder, ok := inner.(Minder); ok {
		return &slowedMinder{session, minder}, nil
	}
	return session, nil
}

type slowedSession struct {
	Session
	stop context.CancelFunc
	done sync.WaitGroup
}

// slowedMinder is the session of a stack that minds its gangs.
type slowedMinder struct {
	*slowedSession
	Minder
}

func (s *slowedSession) Stop() error {
	s.stop()
	s.done.Wait()
	return s.Session.Stop()
}
