package recorder

import (
	"context"
	"errors"
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
// one by one, so that a record that the store rejects does not block the others. It waits only while the
// store takes no writes at all.
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
		r.metrics.failures.Inc()
		size = 1
		if len(entries) == 1 && r.rejects(ctx, entries) {
			r.setAside(ctx, entries[0], err)
			continue
		}
		what := describe(entries) // after putBack other goroutines change them
		r.pending.putBack()
		if ctx.Err() == nil && !r.writable(ctx) {
			failures++
			r.complain(err, "writing "+what, failures)
			r.pause(ctx, failures)
		}
	}
	r.flush(context.WithoutCancel(ctx))
}

// rejects reports whether the store fails to write an entry again, although it takes another write before and
// after. So the failure is that of the entry, not of the connection.
func (r *Recorder) rejects(ctx context.Context, entries []*entry) bool {
	return r.writable(ctx) && r.writeBatch(ctx, entries) != nil && r.writable(ctx)
}

// writable reports whether the store takes a write.
func (r *Recorder) writable(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return r.Store.Writable(ctx) == nil
}

// setAside drops an entry that the store rejects. If the job is deleted, its deletion is written, so that the
// history does not count it as running for ever, and its finalizer is removed. The next version of the job,
// or the next start of the server, makes a new entry.
func (r *Recorder) setAside(ctx context.Context, e *entry, err error) {
	r.metrics.rejected.Inc()
	if job := &e.record.Job; job.Deleted != nil || job.DeletedBefore != nil {
		err = errors.Join(err, r.record(ctx, []history.Record{
			history.Gone(job.Key, job.Deleted, job.DeletedBefore),
		}))
	}
	r.rejections.Do(func() {
		r.Log.Error(err, "The database rejects the record of a job: its history lacks this version",
			"cluster", r.Cluster, "namespace", e.namespace, "job", e.name)
	})
	r.pending.written()
	r.release(e)
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
		r.release(e)
	}
	return nil
}

// release has our finalizer removed from a deleted job at this version.
func (r *Recorder) release(e *entry) {
	if e.deleting && !e.gone {
		r.finalizers.written(e.version)
	}
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
