package recorder

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

const (
	// batch is how many records are written in one transaction.
	batch = 100
	// writeTimeout of one batch, so that a database that hangs is one that is away.
	writeTimeout = 30 * time.Second
	// flushTimeout for what is pending at the end, well within a pod's grace.
	flushTimeout = 5 * time.Second
)

// write what is pending until the context ends, and then once more. After a failure records are written one
// by one, so that the one that the store refuses is found and the others pass it by.
func (r *Recorder) write(ctx context.Context) {
	size, failures := batch, 0
	for ctx.Err() == nil {
		entries := r.pending.take(size)
		if len(entries) == 0 {
			select {
			case <-ctx.Done():
			case <-r.pending.wake:
			}
			continue
		}
		err := r.writeBatch(ctx, entries)
		if err == nil {
			failures, size = 0, min(2*size, batch)
			continue
		}
		what := describe(entries) // once they are back, they belong to whoever sees the next version
		r.pending.putBack()
		if ctx.Err() == nil {
			size = 1
			failures++
			r.metrics.failures.Inc()
			r.complain(err, "writing "+what, failures)
			r.pause(ctx, failures)
		}
	}
	r.flush(context.WithoutCancel(ctx))
}

// flush writes what is pending, until something fails or the time is over.
func (r *Recorder) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	for {
		entries := r.pending.take(batch)
		if len(entries) == 0 {
			return
		}
		if err := r.writeBatch(ctx, entries); err != nil {
			r.pending.putBack()
			r.Log.Error(err, "What is pending is read again after the next start", "cluster", r.Cluster,
				"jobs", r.pending.len())
			return
		}
	}
}

func (r *Recorder) writeBatch(ctx context.Context, entries []*entry) error {
	records := make([]history.Record, 0, len(entries))
	for _, e := range entries {
		if e.reread && !r.readAgain(ctx, e) {
			continue
		}
		records = append(records, e.record)
	}
	if len(records) > 0 {
		if err := r.record(ctx, records); err != nil {
			return err
		}
	}
	r.pending.written()
	for _, e := range entries {
		if e.deleting && !e.gone {
			r.finalizers.written(e.version)
		}
	}
	return nil
}

func (r *Recorder) record(ctx context.Context, records []history.Record) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	start := r.Clock.Now()
	if err := r.Store.Record(ctx, records); err != nil {
		return err
	}
	r.metrics.duration.Observe(r.Clock.Since(start).Seconds())
	r.metrics.records.Add(float64(len(records)))
	return nil
}

// readAgain makes the record of a job whose versions were given up from the cache. It reports false where the
// job is not there: then its deletion has come since, or is about to.
func (r *Recorder) readAgain(ctx context.Context, e *entry) bool {
	job := &v1alpha1.TrainingJob{}
	key := types.NamespacedName{Namespace: e.namespace, Name: e.name}
	if err := r.Cache.Get(ctx, key, job); err != nil || job.UID != e.uid {
		return false
	}
	e.record, e.reread, e.version = r.RecordOf(job), false, versionKey(job)
	return true
}

// describe what could not be written.
func describe(entries []*entry) string {
	if len(entries) == 1 {
		return "the history of " + entries[0].namespace + "/" + entries[0].name
	}
	return "a batch"
}
