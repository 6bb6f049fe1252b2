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
	// writeTimeout of one batch, so that a hanging database counts as unavailable.
	writeTimeout = 30 * time.Second
	// flushTimeout for the last write, well within a pod's grace period.
	flushTimeout = 5 * time.Second
)

// write writes what is pending until the context ends, and then once more. After a failure it writes records
// one by one, so that a record that the store rejects does not block the others.
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
		what := describe(entries) // after putBack other goroutines change them
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

// flush writes what is pending, until an error or the timeout.
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
			r.Log.Error(err, "Pending changes are read again after the next start", "cluster", r.Cluster,
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

// readAgain makes the record of a job whose versions were dropped from the cache. It returns false if the
// cache does not have the job: its deletion follows or was recorded.
func (r *Recorder) readAgain(ctx context.Context, e *entry) bool {
	job := &v1alpha1.TrainingJob{}
	key := types.NamespacedName{Namespace: e.namespace, Name: e.name}
	if err := r.Cache.Get(ctx, key, job); err != nil || job.UID != e.uid {
		return false
	}
	e.record, e.reread, e.version = r.RecordOf(job), false, versionKey(job)
	return true
}

// describe returns what could not be written.
func describe(entries []*entry) string {
	if len(entries) == 1 {
		return "the history of " + entries[0].namespace + "/" + entries[0].name
	}
	return "a batch"
}
