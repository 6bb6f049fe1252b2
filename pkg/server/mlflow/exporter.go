package mlflow

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/clock"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

const (
	// interval between two looks into the history.
	interval = 500 * time.Millisecond
	// firstDelay and longestDelay between attempts at what fails. Each has a jitter of a half.
	firstDelay   = time.Second
	longestDelay = time.Minute
	// endedAtOnce bounds how many jobs that have ended are sent before the others are looked at again: after
	// a long absence, or where an old history is sent to a new server, they are many, and can wait.
	endedAtOnce = 20
	// failuresInARow of different jobs say that it is the tracking server's doing.
	failuresInARow = 5
)

// Options of an Exporter. All are needed but those that say otherwise.
type Options struct {
	Config Config
	Store  Store
	// Clusters by their names in the history: clients with the server's own rights, which get and patch
	// TrainingJobs (deploy/server/mlflow.yaml). Jobs of other clusters are not sent.
	Clusters map[string]ctrlclient.Client
	Log      logr.Logger
	// Clock by default is the machine's.
	Clock clock.WithTicker
}

// Exporter keeps the runs of all jobs up to date. Its Run may be called once.
type Exporter struct {
	config   Config
	store    Store
	clusters map[string]ctrlclient.Client
	client   *client
	clock    clock.WithTicker
	log      logr.Logger
	metrics  *metrics

	holder  string
	renewAt time.Time
	// waiting are the jobs that were pending in the last pass.
	waiting map[history.Key]*waiting
	// failed counts the jobs that failed one after the other.
	failed int
}

// waiting is what is remembered of a job whose run is not up to date.
type waiting struct {
	since time.Time
	// ended is the version in which the job was seen to have ended; 0: it goes on, or was not looked at.
	ended int64
	// retryAt and delay after a failure that concerns the job alone.
	retryAt time.Time
	delay   time.Duration
}

// New makes an Exporter, which does nothing until Run. The configuration must be valid, and On.
func New(o Options) (*Exporter, error) {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	c, err := newClient(o.Config, o.Clock)
	if err != nil {
		return nil, err
	}
	e := &Exporter{
		config: o.Config, store: o.Store, clusters: o.Clusters, client: c, clock: o.Clock, log: o.Log,
		metrics: newMetrics(), holder: string(uuid.NewUUID()), waiting: map[history.Key]*waiting{},
	}
	c.may, c.observe = e.lead, e.metrics.request
	return e, nil
}

// Run sends until the context ends. No error ends it before: what fails is logged, counted and tried again.
func (e *Exporter) Run(ctx context.Context) error {
	defer e.resign(ctx)
	delay := time.Duration(0)
	for ctx.Err() == nil {
		err := e.pass(ctx)
		switch {
		case errors.Is(err, errNotLeading):
			e.stand()
			delay = interval
		case err == nil:
			if delay > interval {
				e.log.Info("MLflow and the history can be used again")
			}
			delay = interval
		case ctx.Err() == nil:
			if delay <= interval {
				e.log.Error(err, "sending to MLflow, which is tried again; the history keeps what is to be sent")
			}
			delay = next(delay, err)
		}
		e.metrics.away(delay > interval)
		e.sleep(ctx, delay)
	}
	return nil
}

// next is the delay after one that did not help. The tracking server may ask for a longer one.
func next(delay time.Duration, err error) time.Duration {
	delay = min(max(2*delay, firstDelay), longestDelay)
	if away := (*awayError)(nil); errors.As(err, &away) {
		delay = max(delay, away.retryAfter)
	}
	return delay
}

// sleep for a delay, give or take a half where it is one after a failure.
func (e *Exporter) sleep(ctx context.Context, delay time.Duration) {
	if delay > interval {
		delay = delay/2 + rand.N(delay) //nolint:gosec // it spreads load
	}
	timer := e.clock.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	}
}

// stand by: another replica sends, and says how late it is.
func (e *Exporter) stand() {
	e.waiting = map[history.Key]*waiting{}
	e.metrics.pending(0, 0)
}

// pass sends what is pending: of jobs that go on everything, of those that have ended the first ones.
func (e *Exporter) pass(ctx context.Context) error {
	if err := e.lead(ctx); err != nil {
		return err
	}
	pending := map[history.Key]*waiting{}
	defer func() { e.remember(pending) }()
	var ended []store.PendingRun
	for _, cluster := range slices.Sorted(maps.Keys(e.clusters)) {
		for after := types.UID(""); ; {
			page, err := e.store.PendingRuns(ctx, cluster, after, store.MaxPage)
			if err != nil {
				return err
			}
			for _, p := range page {
				after = p.UID
				w := e.note(pending, p)
				if w.ended == p.Changed && p.Changed > 0 {
					ended = append(ended, p)
				} else if w, err = e.attend(ctx, w, p, false); err != nil {
					return err
				} else if w.ended > 0 {
					ended = append(ended, p)
				}
			}
			if len(page) < store.MaxPage {
				break
			}
		}
	}
	sent := 0
	for _, p := range ended {
		if sent++; sent > endedAtOnce {
			break
		}
		if _, err := e.attend(ctx, pending[p.Key], p, true); err != nil {
			return err
		}
	}
	return nil
}

// note that a job is pending.
func (e *Exporter) note(pending map[history.Key]*waiting, p store.PendingRun) *waiting {
	w := e.waiting[p.Key]
	if w == nil {
		w = &waiting{since: e.clock.Now()}
	}
	pending[p.Key] = w
	return w
}

// remember what is still pending, and say how much that is.
func (e *Exporter) remember(pending map[history.Key]*waiting) {
	maps.DeleteFunc(pending, func(_ history.Key, w *waiting) bool { return w.since.IsZero() })
	e.waiting = pending
	oldest := e.clock.Now()
	for _, w := range pending {
		if w.since.Before(oldest) {
			oldest = w.since
		}
	}
	e.metrics.pending(len(pending), e.clock.Since(oldest))
}

// attend to a job: send what is not sent, unless it has ended and only others are wanted. An error concerns
// all jobs; what concerns the job alone delays it.
func (e *Exporter) attend(ctx context.Context, w *waiting, p store.PendingRun, ended bool) (*waiting, error) {
	if e.clock.Now().Before(w.retryAt) {
		return w, nil
	}
	postponed, err := e.send(ctx, p, ended)
	var away *awayError
	var foreign *jobError
	switch {
	case err == nil && postponed:
		w.ended = p.Changed
		return w, nil
	case err == nil:
		e.failed, w.since = 0, time.Time{}
		return w, nil
	case ctx.Err() != nil, errors.Is(err, errNotLeading), errors.As(err, &away), !errors.As(err, &foreign):
		return w, err
	}
	if e.failed++; e.failed >= failuresInARow && !isRefused(err) {
		return w, err
	}
	w.delay = next(w.delay, err)
	w.retryAt = e.clock.Now().Add(w.delay/2 + rand.N(w.delay)) //nolint:gosec // it spreads load
	e.metrics.failed()
	e.log.Error(err, "sending a job to MLflow, which is tried again", "cluster", p.Cluster, "uid", p.UID)
	return w, nil
}

// jobError concerns one job.
type jobError struct{ error }

func (e *jobError) Unwrap() error { return e.error }
