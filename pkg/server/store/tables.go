package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// table is a list of a record as a table, a row for each entry.
type table struct {
	name string
	// key and columns, without cluster and uid, which come first in every table.
	key, columns []string
	// rows of a record, without cluster and uid.
	rows func(*history.Record) []row
	// scan adds a row to a record.
	scan func(*scanner, *history.Record)
}

// row is values that can be compared, in the order of the columns.
type row []any

// children are the tables whose rows belong to a job, and that are read and written with it.
var children = []table{
	{
		name: "attempts", key: []string{"number"},
		columns: []string{
			"queued", "started", "ended", "end_phase", "end_reason", "resource_version", "replicas", "gpus",
			"gpu_kind", "queue", "resumed_from", "lost_steps", "lost_seconds", "lost_gpu_seconds",
		},
		rows: func(r *history.Record) []row {
			return rowsOf(r.Attempts, func(a history.Attempt) row {
				return append(row{
					a.Number, unix(a.Queued), unix(a.Started), unix(a.Ended), string(a.EndPhase), a.EndReason,
					a.ResourceVersion, a.Replicas, a.GPUs, a.GPUKind, a.Queue, jsonOrNull(a.ResumedFrom),
				}, loss(a.Lost)...)
			})
		},
		scan: func(s *scanner, r *history.Record) {
			a := history.Attempt{
				Number: s.int32(), Queued: s.time(), Started: s.time(), Ended: s.time(),
				EndPhase: v1alpha1.Phase(s.text()), EndReason: s.text(), ResourceVersion: s.text(),
				Replicas: s.int32(), GPUs: s.int(), GPUKind: s.text(), Queue: s.text(),
			}
			s.json(&a.ResumedFrom)
			a.Lost, a.Seen = s.loss(), a.ResourceVersion != ""
			r.Attempts = append(r.Attempts, a)
		},
	},
	{
		name: "counts", key: []string{"attempt"},
		columns: []string{
			"preemptions", "lost_steps", "lost_seconds", "lost_gpu_seconds", "asked", "saved",
			"preempted_lost_gpu_seconds", "room_made", "room_seconds",
		},
		rows: func(r *history.Record) []row {
			return rowsOf(r.Counts, func(c history.Counts) row {
				return append(append(row{c.Attempt, c.Preemptions}, loss(&c.Lost)...),
					c.Yielded.Asked, c.Yielded.Saved, c.Yielded.LostGPUSeconds, c.Freed.Made, c.Freed.Seconds)
			})
		},
		scan: func(s *scanner, r *history.Record) {
			c := history.Counts{Attempt: s.int32(), Preemptions: s.int32()}
			c.Lost = *s.loss()
			c.Yielded = history.Yielded{Asked: s.int32(), Saved: s.int32(), LostGPUSeconds: s.int()}
			c.Freed = history.FreedCapacity{Made: s.int32(), Seconds: s.int()}
			r.Counts = append(r.Counts, c)
		},
	},
	{
		name: "transitions", key: []string{"at", "phase", "reason", "attempt", "nth"},
		rows: func(r *history.Record) []row {
			return rowsOf(r.Transitions, func(t history.Transition) row {
				return row{t.Time.Unix(), string(t.Phase), t.Reason, t.Attempt, t.Nth}
			})
		},
		scan: func(s *scanner, r *history.Record) {
			r.Transitions = append(r.Transitions, history.Transition{
				Time: *s.time(), Phase: v1alpha1.Phase(s.text()), Reason: s.text(), Attempt: s.int32(), Nth: s.int32(),
			})
		},
	},
	{
		name: "preemptions", key: []string{"attempt"},
		columns: []string{
			"at", "reason", "caused_by", "message", "answer", "lost_steps", "lost_seconds", "lost_gpu_seconds",
		},
		rows: func(r *history.Record) []row {
			return rowsOf(r.Preemptions, func(p history.Preemption) row {
				return append(row{
					p.Attempt, p.Time.Unix(), p.Reason, p.By, p.Message, string(p.Answer),
				}, loss(p.Lost)...)
			})
		},
		scan: func(s *scanner, r *history.Record) {
			r.Preemptions = append(r.Preemptions, history.Preemption{
				Attempt: s.int32(), Time: *s.time(), Reason: s.text(), By: s.text(), Message: s.text(),
				Answer: history.Answer(s.text()), Lost: s.loss(),
			})
		},
	},
	{
		name: "checkpoints", key: []string{"step", "uri"}, columns: []string{"attempt", "at"},
		rows: func(r *history.Record) []row {
			return rowsOf(r.Checkpoints, func(c history.Checkpoint) row {
				return row{c.Step, c.URI, c.Attempt, unix(c.Time)}
			})
		},
		scan: func(s *scanner, r *history.Record) {
			r.Checkpoints = append(r.Checkpoints, history.Checkpoint{
				Step: s.int(), URI: s.text(), Attempt: s.int32(), Time: s.time(),
			})
		},
	},
	samples,
}

// samples: only those of attempts in the new record are read and written.
var samples = table{
	name: "samples", key: []string{"attempt", "step"}, columns: []string{"at", "percent", "epoch", "metrics"},
	rows: func(r *history.Record) []row {
		return rowsOf(r.Samples, func(s history.Sample) row {
			var percent any
			if s.Percent != nil {
				percent = int64(*s.Percent)
			}
			metrics := ""
			if len(s.Metrics) > 0 {
				metrics = mustJSON(s.Metrics)
			}
			return row{s.Attempt, s.Step, s.Time.Unix(), percent, s.Epoch, metrics}
		})
	},
	scan: func(s *scanner, r *history.Record) {
		sample := history.Sample{Attempt: s.int32(), Step: s.int(), Time: *s.time()}
		if percent := s.null(); percent != nil {
			sample.Percent = new(int32(*percent))
		}
		sample.Epoch = s.text()
		s.json(&sample.Metrics)
		r.Samples = append(r.Samples, sample)
	},
}

// names returns all columns except cluster and uid.
func (t *table) names() []string { return append(t.key[:len(t.key):len(t.key)], t.columns...) }

func rowsOf[T any](entries []T, of func(T) row) []row {
	rows := make([]row, len(entries))
	for i, e := range entries {
		rows[i] = of(e)
		for j, v := range rows[i] {
			if n, ok := v.(int32); ok {
				rows[i][j] = int64(n)
			}
		}
	}
	return rows
}

func unix(t *time.Time) any {
	if t == nil {
		return nil
	}
	return t.Unix()
}

func loss(l *history.Loss) []any {
	if l == nil {
		return []any{nil, nil, nil}
	}
	return []any{l.Steps, l.Seconds, l.GPUSeconds}
}

func jsonOrNull[T any](v *T) any {
	if v == nil {
		return nil
	}
	return mustJSON(v)
}

// mustJSON encodes a value of a type that always encodes.
func mustJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encoding %T: %v", v, err))
	}
	return string(text)
}

// scanner reads the columns of one row in order. Composite literals can call its methods, because Go
// evaluates their operands from left to right.
type scanner struct {
	values []any
	err    error
}

// read reads a row of n columns.
func (s *scanner) read(rows *sql.Rows, n int) error {
	values, to := make([]any, n), make([]any, n)
	for i := range values {
		to[i] = &values[i]
	}
	s.values = values
	return rows.Scan(to...)
}

func (s *scanner) next() any {
	v := s.values[0]
	s.values = s.values[1:]
	return v
}

func (s *scanner) null() *int64 {
	v := s.next()
	if v == nil {
		return nil
	}
	n, ok := v.(int64)
	if !ok && s.err == nil {
		s.err = fmt.Errorf("reading the history: a number has the type %T", v)
	}
	return &n
}

func (s *scanner) int() int64 {
	if n := s.null(); n != nil {
		return *n
	}
	return 0
}

// int32 reads a value that was stored from an int32.
func (s *scanner) int32() int32 { return int32(s.int()) }

func (s *scanner) text() string {
	switch v := s.next().(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

func (s *scanner) time() *time.Time {
	if n := s.null(); n != nil {
		return new(time.Unix(*n, 0).UTC())
	}
	return nil
}

func (s *scanner) loss() *history.Loss {
	steps, seconds, gpus := s.null(), s.null(), s.null()
	if steps == nil || seconds == nil || gpus == nil {
		return nil
	}
	return &history.Loss{Steps: *steps, Seconds: *seconds, GPUSeconds: *gpus}
}

func (s *scanner) json(into any) {
	if text := s.text(); text != "" {
		if err := json.Unmarshal([]byte(text), into); err != nil && s.err == nil {
			s.err = fmt.Errorf("reading the history: %w", err)
		}
	}
}

// jobColumns are the columns that scanJob reads. The manifest is a text, possibly empty.
const jobColumns = "job, manifest, changed"

// storedJob is a row of jobs.
type storedJob struct {
	job     history.Job
	changed int64
}

func scanJob(rows *sql.Rows) (storedJob, error) {
	var j storedJob
	var text, manifest string
	if err := rows.Scan(&text, &manifest, &j.changed); err != nil {
		return j, err
	}
	if err := json.Unmarshal([]byte(text), &j.job); err != nil {
		return j, fmt.Errorf("reading a job of the history: %w", err)
	}
	if manifest != "" {
		j.job.Manifest = json.RawMessage(manifest)
	}
	return j, nil
}

// jobRow returns the row of a job in the table jobs, in the order of jobFields, without changed.
func jobRow(j history.Job) row {
	manifest := string(j.Manifest)
	j.Manifest = nil
	var exists int64
	if j.Deleted == nil && j.DeletedBefore == nil {
		exists = 1
	}
	return row{
		j.Cluster, string(j.UID), j.ResourceVersion, j.Namespace, string(j.NamespaceUID), j.Name, j.User, j.Queue,
		string(j.Phase), j.Created.Unix(), unix(finished(&j)), exists, mustJSON(j), manifest,
	}
}

var jobFields = []string{
	"cluster", "uid", "resource_version", "namespace", "namespace_uid", "name", "user_name", "queue", "phase",
	"created", "finished", "exists_still", "job", "manifest",
}

// finished returns the first known end of a job.
func finished(j *history.Job) *time.Time {
	var first *time.Time
	for _, t := range []*time.Time{j.Completed, j.Deleted, j.DeletedBefore} {
		if t != nil && (first == nil || t.Before(*first)) {
			first = t
		}
	}
	return first
}

// inList returns n placeholders after the first ones: "$3, $4".
func inList(after, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "$%d", after+i+1)
	}
	return b.String()
}

func uidsOf(keys []history.Key) []any {
	uids := make([]any, len(keys))
	for i, k := range keys {
		uids[i] = string(k.UID)
	}
	return uids
}

func keyOf(cluster, uid string) history.Key {
	return history.Key{Cluster: cluster, UID: types.UID(uid)}
}
