package store

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// grain is the resolution of rows of usage. A report reads the coarsest possible one.
type grain int64

const (
	byDay        grain = 1 // namespace and kind of GPU
	byMonth      grain = 2
	byQueueDay   grain = 3 // and queue
	byQueueMonth grain = 4
	byUserDay    grain = 5 // and user, without queue
	byUserMonth  grain = 6
	byJobDay     grain = 7 // everything
)

// usageKey is the key of a row of usage. Start is in seconds since 1970.
type usageKey struct {
	Cluster string
	Grain   grain
	Start   int64
	Namespace, NamespaceUID, Queue, GPUKind,
	User, UID string
}

// counters are the sums, in the order of counterNames.
type counters [15]int64

const (
	queuedSeconds = iota
	runningSeconds
	gpuSeconds
	lostSeconds
	lostGPUSeconds
	jobs
	attempts
	preemptions
	assumed
	unknownEnds
	asked
	saved
	preemptedLostGPUSeconds
	roomMade
	roomSeconds
)

var (
	usageKeys = []string{
		"cluster", "grain", "start", "namespace", "namespace_uid", "queue", "gpu_kind", "user_name", "uid",
	}
	counterNames = []string{
		"queued_seconds", "running_seconds", "gpu_seconds", "lost_seconds", "lost_gpu_seconds", "jobs", "attempts",
		"preemptions", "assumed", "unknown_ends", "asked", "saved", "preempted_lost_gpu_seconds", "room_made",
		"room_seconds",
	}
)

// usages are sums by key.
type usages map[usageKey]*counters

// at returns the counters of a key, for changes.
func (u usages) at(k usageKey) *counters {
	if u[k] == nil {
		u[k] = &counters{}
	}
	return u[k]
}

// add adds others, or subtracts them if sign is -1.
func (u usages) add(others usages, sign int64) {
	for k, c := range others {
		at := u.at(k)
		for i := range c {
			at[i] += sign * c[i]
		}
	}
}

// usageOf returns the usage of a job without open spans, in all grains.
func usageOf(r *history.Record) usages {
	u := usages{}
	if r.Job.ResourceVersion == "" {
		return u // only its deletion is known
	}
	key := func(queue, kind string) usageKey {
		return usageKey{
			Cluster: r.Job.Cluster, Grain: byJobDay, Namespace: r.Job.Namespace,
			NamespaceUID: string(r.Job.NamespaceUID), Queue: queue, GPUKind: kind, User: r.Job.User,
			UID: string(r.Job.UID),
		}
	}
	count := func(k usageKey, at time.Time, what int, n int64) {
		k.Start = dayOf(at).Unix()
		u.at(k)[what] += n
	}
	count(key(r.Job.Queue, r.Job.GPUKind), r.Job.Created, jobs, 1)
	counted := map[int32]usageKey{}
	for _, s := range r.Spans() {
		k := key(s.Queue, s.GPUKind)
		if _, again := counted[s.Attempt]; !again {
			counted[s.Attempt] = k
			count(k, s.From, attempts, 1)
			if s.Assumed {
				count(k, s.From, assumed, 1)
			}
		}
		switch {
		case s.To != nil:
			spend(u, k, s, s.From, *s.To)
		case !s.Open:
			count(k, s.From, unknownEnds, 1)
		}
	}
	for _, p := range r.Preemptions {
		k, known := counted[p.Attempt]
		if !known {
			k = key(r.Job.Queue, r.Job.GPUKind)
		}
		count(k, p.Time, preemptions, 1)
	}
	for _, e := range r.Endings() {
		k := key(e.Queue, e.GPUKind)
		count(k, e.Time, lostSeconds, e.Lost.Seconds)
		count(k, e.Time, lostGPUSeconds, e.Lost.GPUSeconds)
		count(k, e.Time, asked, int64(e.Yielded.Asked))
		count(k, e.Time, saved, int64(e.Yielded.Saved))
		count(k, e.Time, preemptedLostGPUSeconds, e.Yielded.LostGPUSeconds)
	}
	for _, g := range r.Grants() {
		k := key(g.Queue, g.GPUKind)
		count(k, g.Time, roomMade, int64(g.Freed.Made))
		count(k, g.Time, roomSeconds, g.Freed.Seconds)
	}
	return inAllGrains(u)
}

// spend adds a span, or a part of it, to each of its days.
func spend(u usages, k usageKey, s history.Span, from, to time.Time) {
	for from.Before(to) {
		day := dayOf(from)
		end := day.AddDate(0, 0, 1)
		if to.Before(end) {
			end = to
		}
		n := int64(end.Sub(from) / time.Second)
		k.Start = day.Unix()
		if c := u.at(k); s.Running {
			c[runningSeconds] += n
			c[gpuSeconds] += n * s.GPUs
		} else {
			c[queuedSeconds] += n
		}
		from = end
	}
}

func dayOf(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

func monthOf(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// inAllGrains adds the coarser sums to those of the finest grain.
func inAllGrains(u usages) usages {
	all := usages{}
	for k, c := range u {
		month := monthOf(time.Unix(k.Start, 0)).Unix()
		one := func(k usageKey, g grain, start int64) {
			k.Grain, k.Start = g, start
			all.add(usages{k: c}, 1)
		}
		one(k, byJobDay, k.Start)
		queue := k.Queue
		k.UID, k.Queue = "", ""
		one(k, byUserDay, k.Start)
		one(k, byUserMonth, month)
		k.User = ""
		one(k, byDay, k.Start)
		one(k, byMonth, month)
		k.Queue = queue
		one(k, byQueueDay, k.Start)
		one(k, byQueueMonth, month)
	}
	return all
}

// write adds sums to the stored ones.
func (u usages) write(ctx context.Context, tx *sql.Tx, d dialect) error {
	var rows []row
	for _, k := range slices.SortedFunc(maps.Keys(u), compareUsageKeys) {
		c := u[k]
		if *c == (counters{}) {
			continue
		}
		r := row{k.Cluster, int64(k.Grain), k.Start, k.Namespace, k.NamespaceUID, k.Queue, k.GPUKind, k.User, k.UID}
		for _, n := range c {
			r = append(r, n)
		}
		rows = append(rows, r)
	}
	sums := make([]string, len(counterNames))
	for i, c := range counterNames {
		sums[i] = c + " = usage." + c + " + excluded." + c
	}
	columns := append(slices.Clone(usageKeys), counterNames...)
	return upsert(ctx, tx, d, "usage", columns, rows, usageKeys, strings.Join(sums, ", "))
}

func compareUsageKeys(a, b usageKey) int {
	return cmp.Or(
		cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Grain, b.Grain), cmp.Compare(a.Start, b.Start),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.NamespaceUID, b.NamespaceUID),
		cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.GPUKind, b.GPUKind), cmp.Compare(a.User, b.User),
		cmp.Compare(a.UID, b.UID),
	)
}

var openFields = []string{
	"cluster", "uid", "attempt", "running", "since", "namespace", "namespace_uid", "queue", "gpu_kind",
	"user_name", "gpus",
}

// openSpans returns the rows of the open spans.
func openSpans(r *history.Record) []row {
	var rows []row
	for _, s := range r.Spans() {
		if !s.Open {
			continue
		}
		var running int64
		if s.Running {
			running = 1
		}
		rows = append(rows, row{
			r.Job.Cluster, string(r.Job.UID), int64(s.Attempt), running, s.From.Unix(), r.Job.Namespace,
			string(r.Job.NamespaceUID), s.Queue, s.GPUKind, r.Job.User, s.GPUs,
		})
	}
	return rows
}
