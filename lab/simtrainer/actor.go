package simtrainer

import (
	"context"
	"errors"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/reportclient"
)

// actor plays one pod of rank 0: its trainer, and the agent that reports.
type actor struct {
	rank   Rank
	volume *Volume
	clock  clock.Clock

	mu        sync.Mutex
	trainer   Trainer
	commands  []checkpoint.Command
	delivered string
	// wrote: the pod's end is written.
	wrote bool

	// reporter is nil where there is nowhere to report to. It posts by line.
	reporter *reportclient.Reporter
	line     *reportclient.Client
	news     chan struct{}
	stop     func() // nil: nobody reports
}

// newActor for a pod; wake is called when its trainer has got something to do.
func newActor(pod *corev1.Pod, r Rank, v *Volume, c clock.Clock, api client.Client, log logr.Logger, wake func()) (*actor, error) {
	a := &actor{rank: r, volume: v, clock: c, news: make(chan struct{}, 1)}
	if stored, ok := v.Trainer(pod.UID); ok {
		a.trainer = stored
	} else {
		a.trainer = a.born()
	}
	if r.Reports.URL == "" {
		return a, nil
	}
	t := &tokens{client: api, clock: c, pod: pod, reports: r.Reports}
	a.line = &reportclient.Client{
		URL: r.Reports.URL, UserAgent: "trainingjob-agent/simulated", Token: t.get, CA: func() (string, error) { return r.Reports.CA, nil },
	}
	a.reporter = &reportclient.Reporter{
		Post: a.line.Post, Report: a.report, News: a.news, After: c.After,
		HandleCommand: func(command checkpoint.Command) error {
			if a.take(command) {
				wake()
			}
			return nil
		},
		OnError: func(err error) {
			if err != nil {
				log.Info("A report was not taken, trying again", "error", err.Error())
			}
		},
	}
	return a, nil
}

// born is the trainer at its start. It finds its resume point, or dies as a program does that cannot open a file.
func (a *actor) born() Trainer {
	now := a.clock.Now()
	script := Script{Spec: a.rank.Spec, Attempt: a.rank.Attempt, Every: a.rank.saveEvery(a.rank.Spec)}
	if a.rank.Resume != "" {
		from, ok := a.volume.Find(a.rank.Place, a.rank.Resume)
		if !ok || !from.Complete {
			t := Start(script, now)
			t.Exit = &Exit{
				At: now, Code: 1, Reason: checkpoint.ExitExited,
				Log: "no complete checkpoint at " + a.rank.Place.uri(a.rank.Resume),
			}
			return t
		}
		script.Resume = from.Step
	}
	return Start(script, now).Wait(true, now)
}

// report is what is said now.
func (a *actor) report() checkpoint.Report {
	a.mu.Lock()
	defer a.mu.Unlock()
	return report(a.trainer, a.clock.Now(), a.rank, a.sight(), a.delivered)
}

func (a *actor) sight() sight {
	if a.rank.Place.URI == "" {
		return sight{}
	}
	return look(a.volume, a.rank.Place, a.rank.Attempt, a.rank.Object)
}

// take a command from an answer; false: it is known.
func (a *actor) take(c checkpoint.Command) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.delivered == c.ID {
		return false
	}
	a.delivered = c.ID
	a.commands = append(a.commands, c)
	return true
}

// tell what is new at once.
func (a *actor) tell() {
	if a.reporter == nil {
		return
	}
	select {
	case a.news <- struct{}{}:
	default: // it is already signalled
	}
}

// speak begins to report, if nobody does.
func (a *actor) speak(parent context.Context) {
	if a.reporter == nil || a.stop != nil {
		return
	}
	ctx, cancel := context.WithCancel(parent)
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.reporter.Run(ctx)
	}()
	a.stop = func() { cancel(); <-done }
}

// hush ends the reports.
func (a *actor) hush() {
	if a.stop != nil {
		a.stop()
		a.stop = nil
	}
}

// bye is the last report.
func (a *actor) bye(ctx context.Context) error {
	if a.reporter == nil {
		return nil
	}
	err := a.reporter.PostLast(ctx)
	a.line.Close()
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	return err
}
