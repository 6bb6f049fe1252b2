package demo

import (
	"context"
	"fmt"
	"time"
)

// player plays the story: one loop that takes records, shows them, and starts the next act.
type player struct {
	acts    []Act
	apply   func(ctx context.Context, file string) error
	display display

	records <-chan Record
	// endings has an element for each time that a process ended and is started again.
	endings <-chan ending
	// failed ends the story: a watch with a gap, a process that does not stay up.
	failed <-chan error

	frame   frame
	history History
	started time.Time
}

// play plays all acts. The history is complete when it returns, also with an error.
func (p *player) play(ctx context.Context) error {
	p.started = time.Now()
	p.frame.state = NewClusterState()
	for _, act := range p.acts {
		p.frame.acts = append(p.frame.acts, actLine{title: act.Title})
	}
	defer func() { p.display.close(p.now()) }()
	defer p.history.sort()
	for i, act := range p.acts {
		if err := p.playAct(ctx, i, act); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) playAct(ctx context.Context, i int, act Act) error {
	began := time.Now()
	line := &p.frame.acts[i]
	line.state = actNow
	p.display.act(p.now(), i)
	if act.Apply != "" {
		if err := p.apply(ctx, act.Apply); err != nil {
			return err
		}
	}
	deadline := time.NewTimer(act.Within)
	defer deadline.Stop()
	clocks := time.NewTicker(time.Second)
	defer clocks.Stop()
	for !act.Over(p.frame.state) {
		select {
		case r := <-p.records:
			p.take(r)
		case e := <-p.endings:
			if e.name == operatorName {
				p.frame.operatorRestarts++
			}
			p.display.note(p.now(), fmt.Sprintf("The %s ended (%v) and is started again.", e.name, exitError(e.err)))
		case err := <-p.failed:
			return err
		case <-clocks.C:
			line.took = time.Since(began)
			p.display.refresh(p.now())
		case <-deadline.C:
			return fmt.Errorf("the act %q was not over after %s", act.Title, act.Within)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	line.state, line.took = actOver, time.Since(began)
	p.display.refresh(p.now())
	return nil
}

// take applies one record to the state, and shows it.
func (p *player) take(r Record) {
	p.history.Records = append(p.history.Records, r)
	before := JobState{}
	if r.Job != nil {
		before = p.frame.state.Jobs[r.Job.Name]
	}
	p.frame.state.Apply(r)
	if r.Job == nil {
		p.display.refresh(p.now())
		return
	}
	p.display.job(p.now(), before, *r.Job)
}

func (p *player) now() frame {
	s := p.frame
	s.elapsed = time.Since(p.started)
	return s
}
