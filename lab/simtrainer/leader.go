package simtrainer

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/reportclient"
)

// leader simulates a pod of rank 0: its trainer, and the agent that reports.
type leader struct {
	uid   types.UID
	rank  Rank
	state *StateFile
	clock clock.Clock

	mu        sync.Mutex
	trainer   Trainer
	commands  []checkpoint.Command
	delivered string
	// endWritten: the pod's end is written.
	endWritten bool

	// reporter posts through client. Both are nil if there is nowhere to report to.
	reporter *reportclient.Reporter
	client   *reportclient.Client
	// news asks the reporter to report at once.
	news chan struct{}
	// stop ends the reporting; nil if the leader does not report.
	stop func()
}

// newLeader returns the leader of a pod, with its trainer as stored in the state file, or a new one. wake is
// called when a command arrives.
func newLeader(
	pod *corev1.Pod, r Rank, f *StateFile, c clock.Clock, api client.Client, log logr.Logger, wake func(),
) *leader {
	l := &leader{uid: pod.UID, rank: r, state: f, clock: c, news: make(chan struct{}, 1)}
	if stored, ok := f.Trainer(pod.UID); ok {
		l.trainer = stored
	} else {
		l.trainer = l.newTrainer()
	}
	if r.ReportTo.URL == "" {
		return l
	}
	tokens := &tokenSource{client: api, clock: c, pod: pod, target: r.ReportTo}
	l.client = &reportclient.Client{
		URL: r.ReportTo.URL, UserAgent: "trainingjob-agent/simulated", Token: tokens.get,
		CA: func() (string, error) { return r.ReportTo.CA, nil },
	}
	l.reporter = &reportclient.Reporter{
		Post: l.client.Post, Report: l.report, News: l.news, After: c.After,
		HandleCommand: func(command checkpoint.Command) error {
			if l.enqueue(command) {
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
	return l
}

// newTrainer is the trainer at its start. Without its resume point it fails, like a program that cannot open
// a file.
func (l *leader) newTrainer() Trainer {
	now := l.clock.Now()
	config := Config{
		Spec: l.rank.Spec, Attempt: l.rank.Attempt, Every: l.rank.saveEvery(l.rank.Spec),
		Rehearsal: l.rank.Rehearsal,
	}
	if l.rank.Rehearsal {
		config.Before = l.state.Volume(l.rank.Location)
	}
	if l.rank.Resume != "" {
		from, ok := l.state.Find(l.rank.Location, l.rank.Resume)
		problem := ""
		switch damaged := l.rank.Spec.CannotLoad; {
		case !ok || !from.Complete:
			problem = "no complete checkpoint at "
		case from.Damaged || damaged > 0 && from.Attempt == 1 && from.Step >= damaged:
			problem = "cannot load the checkpoint at "
		}
		if problem != "" {
			t := NewTrainer(config, now)
			t.Exit = &Exit{
				At: now, Code: 1, Reason: checkpoint.ExitExited, Log: problem + l.rank.Location.uri(l.rank.Resume),
			}
			return t
		}
		config.Resume = from.Step
		config = config.resumeOlder(l.state.Complete(l.rank.Location), l.rank.Location)
	}
	return NewTrainer(config, now).SetWaiting(true, now)
}

// report is the report at this moment.
func (l *leader) report() checkpoint.Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	report := reportOf(l.trainer, now, l.rank, l.checkpoints(), l.delivered)
	if l.rank.Rehearsal {
		report.Rehearsal = evidenceOf(l.trainer, l.state.Rehearsed(l.rank.Location), now, l.rank.WorldSize,
			l.state.Volume(l.rank.Location))
	}
	return report
}

// checkpoints is what the agent sees of this attempt's checkpoints.
func (l *leader) checkpoints() checkpointView {
	if l.rank.Location.URI == "" {
		return checkpointView{}
	}
	return viewCheckpoints(l.state, l.rank.Location, OfAttempt(l.rank.Attempt), l.rank.ObjectStore)
}

// enqueue keeps a command of an answer for the trainer. It reports whether the command is new.
func (l *leader) enqueue(c checkpoint.Command) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.delivered == c.ID {
		return false
	}
	l.delivered = c.ID
	l.commands = append(l.commands, c)
	return true
}

// catchUp brings the trainer up to the present, with all inputs since. Nothing takes effect before it is in
// the state file. hasNews reports whether something happened that should be reported at once.
func (l *leader) catchUp(pod *corev1.Pod, spec Spec, incomplete bool) (t Trainer, hasNews bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	t, saves := l.trainer.Thaw(now).Advance(now)
	apply := func(next Trainer, more []SaveEvent) {
		t = next
		saves = append(saves, more...)
	}
	t = t.Reconfigure(spec, l.rank.saveEvery(spec), now)
	for _, c := range l.commands {
		apply(t.Obey(c, now))
	}
	if pod.DeletionTimestamp != nil {
		apply(t.Terminate(now, l.rank.Grace))
	}
	apply(t.SetWaiting(incomplete, now).Advance(now))
	if _, known := l.state.Trainer(l.uid); !known || t != l.trainer {
		if err := l.state.Store(l.uid, t, l.rank.Location, saves, l.rank.Keep); err != nil {
			return t, false, err
		}
	}
	hasNews = t.Phase != l.trainer.Phase || t.CommandID != l.trainer.CommandID || len(saves) > 0
	l.trainer, l.commands = t, nil
	return t, hasNews, nil
}

// freeze stops reporting and training, because the node has died.
func (l *leader) freeze(now time.Time) error {
	l.stopReporting()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.trainer.Exit != nil || !l.trainer.Frozen.IsZero() {
		return nil
	}
	t, saves := l.trainer.Advance(now)
	t = t.Freeze(now)
	if err := l.state.Store(l.uid, t, l.rank.Location, saves, l.rank.Keep); err != nil {
		return err
	}
	l.trainer = t
	return nil
}

// reportNow makes the reporter report without waiting for the end of its interval.
func (l *leader) reportNow() {
	if l.reporter == nil {
		return
	}
	select {
	case l.news <- struct{}{}:
	default: // it is already asked to
	}
}

// startReporting starts the reporter, if it is not running.
func (l *leader) startReporting(parent context.Context) {
	if l.reporter == nil || l.stop != nil {
		return
	}
	ctx, cancel := context.WithCancel(parent)
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.reporter.Run(ctx)
	}()
	l.stop = func() { cancel(); <-done }
}

// stopReporting stops the reporter and waits until it has stopped.
func (l *leader) stopReporting() {
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
}

// reportLast posts the last report.
func (l *leader) reportLast(ctx context.Context) error {
	if l.reporter == nil {
		return nil
	}
	err := l.reporter.PostLast(ctx)
	l.client.Close()
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	return err
}
