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
	// interval between two reads of the history.
	interval = 500 * time.Millisecond
	// firstDelay and longestDelay between retries. Each has a jitter of a half.
	firstDelay   = time.Second
	longestDelay = time.Minute
	// endedAtOnce bounds how many ended jobs are sent before the others are checked again: after a long
	// outage, or for a new tracking server, they are many and can wait.
	endedAtOnce = 20
	// failuresInARow of different jobs mean that the tracking server fails.
	failuresInARow = 5
)

// Options of an Exporter. All are required unless noted.
type Options struct {
	Config Config
	Store  Store
	// Clusters by their names in the history: clients with the server's own rights, which get and patch
	// TrainingJobs (deploy/server/mlflow.yaml). Jobs of other clusters are not sent.
	Clusters map[string]ctrlclient.Client
	Log      logr.Logger
	// Clock defaults to the machine's.
	Clock clock.WithTicker
}

// Exporter keeps the runs of all jobs up to date. Call Run at most once.
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
	// failed counts consecutive failed jobs.
	failed int
}

// waiting is the state of a job whose run is not up to date.
type waiting struct {
	since time.Time
	// ended is the version in which the job had ended; 0: it has not, or was not checked.
	ended int64
	// retryAt and delay after a failure of this job alone.
	retryAt time.Time
	delay   time.Duration
}

// New returns an Exporter, which does nothing until Run. The configuration must be valid, and On.
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

// Run sends until the context ends. It logs and counts errors, and retries.
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
				e.log.Info("MLflow and the history are available again")
			}
			delay = interval
		case ctx.Err() == nil:
			if delay <= interval {
				e.log.Error(err, "Sending to MLflow failed; the server retries with the data from the "+
					"history")
			}
			delay = next(delay, err)
		}
		e.metrics.away(delay > interval)
		e.sleep(ctx, delay)
	}
	return nil
}

// next returns the delay after another failure. The tracking server can request a longer one.
func next(delay time.Duration, err error) time.Duration {
	delay = min(max(2*delay, firstDelay), longestDelay)
	if away := (*awayError)(nil); errors.As(err, &away) {
		delay = max(delay, away.retryAfter)
	}
	return delay
}

// sleep for a delay, with jitter after a failure.
func (e *Exporter) sleep(ctx context.Context, delay time.Duration) {
	if delay > interval {
		delay = delay/2 + rand.N(delay) //nolint:gosec // spreads the load
	}
	timer := e.clock.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	}
}

// stand by: another replica sends and reports the delay.
func (e *Exporter) stand() {
	e.waiting = map[history.Key]*waiting{}
	e.metrics.pending(0, 0)
}

// pass sends what is pending: everything of active jobs, and of ended ones the first.
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

// note records that a job is pending.
func (e *Exporter) note(pending map[history.Key]*waiting, p store.PendingRun) *waiting {
	w := e.waiting[p.Key]
	if w == nil {
		w = &waiting{since: e.clock.Now()}
	}
	pending[p.Key] = w
	return w
}

// remember keeps the jobs that are still pending, and reports their number.
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

// attend sends what a job lacks, unless it has ended and only active ones are requested. An error concerns
// all jobs; a failure of this job only delays it.
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
	if e.failed++; e.failed >= failuresInARow && !isRefused(err) && !isDenied(err) {
		return w, err
	}
	w.delay = next(w.delay, err)
	w.retryAt = e.clock.Now().Add(w.delay/2 + rand.N(w.delay)) //nolint:gosec // spreads the load
	e.metrics.failed()
	e.log.Error(err, "Sending a job to MLflow failed; the server retries it", "cluster", p.Cluster, "uid",
		p.UID)
	return w, nil
}

// jobError concerns one job.
type jobError struct{ error }

func (e *jobError) Unwrap() error { return e.error }
