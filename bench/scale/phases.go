package scale

import (
	"context"
	"fmt"
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/bench/measure"
	"mlplatform.example.com/trainingjob-operator/bench/play"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// phase of a step, as it is played.
type phase struct {
	name string
	// jobs that it is about.
	jobs int
	// bound is when it counts as broken.
	bound time.Duration
	// still is how long the operator may write nothing until what follows late from it is over; zero: it is not
	// waited for.
	still time.Duration
	// play it. A phase that stops a program reads the usage again before, since the usage of an ended program is
	// lost.
	play func(ctx context.Context, result *Phase, before *measure.Usage) error
}

// quiet is how long the operator must write nothing until the waiting jobs count as settled. It delays status
// updates of bursts by up to a minute, and schedulers with ten thousand gangs are as slow.
const quiet = 65 * time.Second

// probePrefix begins the names of jobs that show that an operator works. They wait like the others.
const probePrefix = "probe-"

// phases in the order in which they are played.
func (s *step) phases() []phase {
	size := s.result.Size
	return []phase{
		{Fill, size.Gangs, 30 * time.Minute, play.SettledFor, s.fill},
		{Queue, size.Waiting, 45 * time.Minute, quiet, s.queue},
		{Idle, size.Jobs(), s.Idle + time.Minute, 0, s.idle},
		{Restart, size.Jobs(), 10 * time.Minute, play.SettledFor, s.restart},
		{Failover, size.Jobs(), 10 * time.Minute, play.SettledFor, s.failover},
		{Preempt, len(size.preempting()), 2 * enough, 0, s.preempt},
	}
}

func (s *step) fill(ctx context.Context, _ *Phase, _ *measure.Usage) error {
	if err := s.submit(ctx, s.result.Size.running()); err != nil {
		return err
	}
	return s.until(ctx, Fill, func() bool {
		return s.seen.count[v1alpha1.PhaseRunning] == s.result.Size.Gangs
	})
}

func (s *step) queue(ctx context.Context, _ *Phase, _ *measure.Usage) error {
	if err := s.submit(ctx, s.result.Size.waiting()); err != nil {
		return err
	}
	pods := s.result.Size.Ranks()
	if podsWait(s.result.Scheduler) {
		pods += s.result.Size.Waiting // with one rank each
	}
	return s.until(ctx, Queue, func() bool {
		return s.seen.count[v1alpha1.PhaseQueued] == s.result.Size.Waiting && s.seen.ranks.total() >= pods
	})
}

// podsWait reports whether a scheduler gets to see the pods of jobs that wait. It may be long until it asks
// for them, and jobs that lack them are not queued for good.
func podsWait(scheduler string) bool {
	return scheduler != localcluster.SchedulerKueue && scheduler != Simulated
}

func (s *step) idle(ctx context.Context, _ *Phase, _ *measure.Usage) error {
	s.say(fmt.Sprintf("%s for %s", Idle, s.Idle))
	select {
	case <-time.After(s.Idle):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// enough time to see how preemptions are answered: schedulers that look at every gang that waits before they
// look at the next one that came take minutes for each.
const enough = 5 * time.Minute

// preempt submits gangs one after the other that preempt a running one. When the time is over it reports the
// preemptions so far, and that there were fewer.
func (s *step) preempt(ctx context.Context, result *Phase, _ *measure.Usage) error {
	s.seen.answers() // those before do not count
	within, cancel := context.WithTimeout(ctx, enough)
	defer cancel()
	for _, high := range s.result.Size.preempting() {
		submitted := time.Now()
		if err := s.submit(ctx, []workload.Gang{high}); err != nil {
			return err
		}
		err := s.until(within, Preempt, func() bool { // and victims have lost all ranks
			return s.seen.ranks.running(high.Name, high.Ranks) && len(s.seen.ranks.ending) == 0
		})
		if within.Err() != nil && ctx.Err() == nil {
			break
		}
		if err != nil {
			return err
		}
		result.Entries = append(result.Entries, time.Since(submitted).Seconds())
	}
	slices.Sort(result.Entries)
	result.Answers = s.seen.answers()
	return nil
}

// restart is over when the new operator has seen a job that was submitted while there was none.
func (s *step) restart(ctx context.Context, result *Phase, before *measure.Usage) (err error) {
	if err := s.killOperator("operator"); err != nil {
		return err
	}
	if *before, err = measure.Used(); err != nil {
		return err
	}
	probe := probe("restart")
	if err := s.submit(ctx, []workload.Gang{probe}); err != nil {
		return err
	}
	began := time.Now()
	s.say("starting the operator")
	if err := s.startOperator(ctx, "operator", false); err != nil {
		return err
	}
	result.ReadySeconds = time.Since(began).Seconds()
	return s.awaitSeen(ctx, probe)
}

// failover begins when the operator that leads is killed, and is over when the other one has seen a job that
// was submitted then.
func (s *step) failover(ctx context.Context, result *Phase, before *measure.Usage) (err error) {
	if err := s.killOperator("operator"); err != nil {
		return err
	}
	s.say("starting two operators")
	if err := s.startOperator(ctx, "leader", true); err != nil {
		return err
	}
	first := probe("leader")
	if err := s.submit(ctx, []workload.Gang{first}); err != nil {
		return err
	}
	if err := s.awaitSeen(ctx, first); err != nil {
		return err
	}
	if err := s.startOperator(ctx, "follower", true); err != nil {
		return err
	}
	if err := s.awaitCalm(ctx, play.SettledFor); err != nil {
		return err
	}
	if err := s.killOperator("leader"); err != nil {
		return err
	}
	if *before, err = measure.Used(); err != nil {
		return err
	}
	began := time.Now()
	second := probe("follower")
	if err := s.submit(ctx, []workload.Gang{second}); err != nil {
		return err
	}
	err = s.awaitSeen(ctx, second)
	result.ReadySeconds = time.Since(began).Seconds()
	return err
}

func probe(name string) workload.Gang {
	p := waiter
	p.Name = probePrefix + name
	return p
}

// awaitSeen waits until the operator has queued a job.
func (s *step) awaitSeen(ctx context.Context, job workload.Gang) error {
	return s.until(ctx, "until the operator has seen a new job", func() bool {
		return s.seen.jobs[job.Name] == v1alpha1.PhaseQueued
	})
}
