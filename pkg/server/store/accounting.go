package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// Dimension by which a report is broken down.
type Dimension string

// Dimensions of a report.
const (
	ByDay       Dimension = "day"
	ByNamespace Dimension = "namespace"
	ByQueue     Dimension = "queue"
	ByUser      Dimension = "user"
	ByGPUKind   Dimension = "gpuKind"
	ByJob       Dimension = "job"
)

// Limits of a report.
const (
	// MaxDays of any report.
	MaxDays = 1100
	// MaxDaysByDay of a report by day.
	MaxDaysByDay = 366
	// MaxDaysFine of a report by job, by user and queue, or by either and day.
	MaxDaysFine = 31
	// MaxUsages in a report.
	MaxUsages = 5000
)

// AccountingQuery requests a report.
type AccountingQuery struct {
	// Cluster is required.
	Cluster string
	// Namespaces to include. Nil: all; empty: none.
	Namespaces []history.Namespace
	// From and To are beginnings of days, UTC; To is excluded. Spans that began earlier count from From.
	From, To time.Time
	// Now is the end of spans that are still open.
	Now time.Time
	// By lists the dimensions. Empty: one sum.
	By []Dimension
	// Limit of the usages, those with the most GPU-seconds; by default and at most MaxUsages. By day it is
	// those of the first days.
	Limit int
}

// Usage in a period. Fields of other dimensions are empty. It counts jobs created, attempts first queued, and
// preemptions and losses in the period, so usages can be added up.
type Usage struct {
	Day                                     time.Time
	Namespace, Queue, User, GPUKind, JobUID string
	// JobName and, by job, Namespace are those of the job.
	JobName string

	QueuedSeconds int64
	// RunningSeconds from Running until the attempt began to end.
	RunningSeconds int64
	// GPUSeconds are running seconds times the GPUs of the gang.
	GPUSeconds int64
	// LostSeconds and LostGPUSeconds are the part of them that was repeated.
	LostSeconds, LostGPUSeconds int64
	Jobs, Attempts, Preemptions int64
	// Assumed is the number of attempts that were not observed, whose GPUs, kind and queue are taken from the
	// next one.
	Assumed int64
	// UnknownEnds is the number of spans whose end is unknown. They are not counted.
	UnknownEnds int64

	// Asked is how often trainers were asked for a checkpoint before a preemption, Saved how often nothing
	// was lost then, and PreemptedLostGPUSeconds the part of LostGPUSeconds that preemptions lost.
	Asked, Saved, PreemptedLostGPUSeconds int64
	// RoomMade is how often victims freed capacity for a gang, and RoomSeconds how long the gangs had waited
	// for it.
	RoomMade, RoomSeconds int64
}

// Accounting returns the usage, by day if requested, then by GPU-seconds, the most first.
func (s *Store) Accounting(ctx context.Context, q AccountingQuery) ([]Usage, error) {
	if err := q.complete(); err != nil {
		return nil, err
	}
	if q.Namespaces != nil && len(q.Namespaces) == 0 {
		return nil, nil
	}
	sums := map[Usage]*counters{}
	if err := s.sums(ctx, q, nil, q.Limit, sums); err != nil {
		return nil, fmt.Errorf("reading the accounting: %w", err)
	}
	if err := s.addOpen(ctx, q, sums); err != nil {
		return nil, fmt.Errorf("reading the accounting: %w", err)
	}
	all := make([]Usage, 0, len(sums))
	for u, c := range sums {
		u.set(c)
		all = append(all, u)
	}
	slices.SortFunc(all, compareUsages)
	all = all[:min(len(all), q.Limit)]
	if q.by(ByJob) {
		if err := s.nameJobs(ctx, q.Cluster, all); err != nil {
			return nil, fmt.Errorf("reading the accounting: %w", err)
		}
	}
	return all, nil
}
func (q *AccountingQuery) by(d Dimension) bool { return slices.Contains(q.By, d) }

// fine reports whether only the finest grain can answer the query.
func (q *AccountingQuery) fine() bool { return q.by(ByJob) || q.by(ByUser) && q.by(ByQueue) }

func (q *AccountingQuery) complete() error {
	if q.Limit <= 0 || q.Limit > MaxUsages {
		q.Limit = MaxUsages
	}
	days := int(q.To.Sub(q.From) / (24 * time.Hour))
	fine := q.fine() || (q.by(ByUser) || q.by(ByQueue)) && q.by(ByDay)
	for _, d := range q.By {
		if !slices.Contains([]Dimension{ByDay, ByNamespace, ByQueue, ByUser, ByGPUKind, ByJob}, d) {
			return fmt.Errorf("%w: by: unknown dimension %q: use day, namespace, queue, user, gpuKind or job",
				ErrBadQuery, string(d))
		}
	}
	switch {
	case q.Cluster == "":
		return fmt.Errorf("%w: cluster: required", ErrBadQuery)
	case !q.From.Equal(dayOf(q.From)) || !q.To.Equal(dayOf(q.To)):
		return fmt.Errorf("%w: from, to: use beginnings of days, UTC", ErrBadQuery)
	case days < 1:
		return fmt.Errorf("%w: to: use a day after from", ErrBadQuery)
	case days > MaxDays:
		return fmt.Errorf("%w: from, to: request at most %d days", ErrBadQuery, MaxDays)
	case q.by(ByDay) && days > MaxDaysByDay:
		return fmt.Errorf("%w: from, to: by day, request at most %d days", ErrBadQuery, MaxDaysByDay)
	case fine && days > MaxDaysFine:
		return fmt.Errorf("%w: from, to: by job, by user and queue, or by either of these and day, "+
			"request at most %d days", ErrBadQuery, MaxDaysFine)
	}
	return nil
}

// part of a period that one grain covers.
type part struct {
	grain    grain
	from, to time.Time
}

// parts splits the period of a query into whole months, if the report is not by day, and days.
func (q *AccountingQuery) parts() []part {
	day, month := byDay, byMonth
	switch {
	case q.fine():
		return []part{{byJobDay, q.From, q.To}}
	case q.by(ByUser):
		day, month = byUserDay, byUserMonth
	case q.by(ByQueue):
		day, month = byQueueDay, byQueueMonth
	}
	since := q.From
	for _, n := range q.Namespaces {
		// Sums of a month without the UID of a namespace can be of a former one with the name.
		if n.UID != "" && n.Created.After(since) {
			since = n.Created
		}
	}
	first := monthOf(since)
	if first.Before(since) {
		first = first.AddDate(0, 1, 0)
	}
	last := monthOf(q.To)
	if q.by(ByDay) || !first.Before(last) {
		return []part{{day, q.From, q.To}}
	}
	parts := []part{{day, q.From, first}, {month, first, last}, {day, last, q.To}}
	return slices.DeleteFunc(parts, func(p part) bool { return !p.from.Before(p.to) })
}

// columnsOf the dimensions in usage, in the order in which they are read.
var columnsOf = []struct {
	dimension Dimension
	column    string
	set       func(*Usage, *scanner)
}{
	{ByDay, "start", func(u *Usage, s *scanner) { u.Day = *s.time() }},
	{ByNamespace, "namespace", func(u *Usage, s *scanner) { u.Namespace = s.text() }},
	{ByQueue, "queue", func(u *Usage, s *scanner) { u.Queue = s.text() }},
	{ByUser, "user_name", func(u *Usage, s *scanner) { u.User = s.text() }},
	{ByGPUKind, "gpu_kind", func(u *Usage, s *scanner) { u.GPUKind = s.text() }},
	{ByJob, "uid", func(u *Usage, s *scanner) { u.JobUID = s.text() }},
}

// sums adds up the stored usage, of all jobs or of some.
func (s *Store) sums(
	ctx context.Context, q AccountingQuery, uids []any, limit int, into map[Usage]*counters,
) error {
	var dimensions, totals, some, selects []string
	for _, c := range columnsOf {
		if q.by(c.dimension) {
			dimensions = append(dimensions, c.column)
		}
	}
	for _, name := range counterNames {
		totals = append(totals, "CAST(SUM("+name+") AS BIGINT)")
		some = append(some, "SUM("+name+") <> 0")
	}
	args := []any{q.Cluster}
	columns := strings.Join(slices.Concat(dimensions, counterNames), ", ")
	from := `usage` + joinNamespaces(&args, q.Namespaces, "start")
	for _, p := range q.parts() {
		selects = append(selects, `SELECT `+columns+` FROM `+from+` WHERE cluster = $1`+fmt.Sprintf(
			` AND grain = %d AND start >= %d AND start < %d`, p.grain, p.from.Unix(), p.to.Unix()))
	}
	where := ""
	if uids != nil {
		where = ` AND uid IN (` + inList(len(args), len(uids)) + `)`
		args = append(args, uids...)
	}
	for i := range selects {
		selects[i] += where
	}
	text := `SELECT ` + strings.Join(slices.Concat(dimensions, totals), ", ") + ` FROM (` +
		strings.Join(selects, " UNION ALL ") + `) AS parts`
	if len(dimensions) > 0 {
		order := "SUM(gpu_seconds) DESC"
		if q.by(ByDay) {
			order = "start, " + order
		}
		// All are 0 where a job counted until its queue, or another dimension, became known.
		text += ` GROUP BY ` + strings.Join(dimensions, ", ") + ` HAVING ` + strings.Join(some, " OR ") +
			` ORDER BY ` + order
		text += fmt.Sprintf(` LIMIT %d`, limit)
	}
	return query(ctx, s.reads, func(rows *sql.Rows) error {
		var sc scanner
		if err := sc.read(rows, len(dimensions)+len(counterNames)); err != nil {
			return err
		}
		var u Usage
		for _, c := range columnsOf {
			if q.by(c.dimension) {
				c.set(&u, &sc)
			}
		}
		var sum counters
		for i := range sum {
			sum[i] = sc.int()
		}
		into[u] = &sum
		return sc.err
	}, text, args...)
}

// restrict adds a condition on a column, if there are values.
func restrict(args *[]any, column string, values []string) string {
	if len(values) == 0 {
		return ""
	}
	condition := ` AND ` + column + ` IN (` + inList(len(*args), len(values)) + `)`
	for _, v := range values {
		*args = append(*args, v)
	}
	return condition
}

// addOpen adds open spans, up to now.
func (s *Store) addOpen(ctx context.Context, q AccountingQuery, sums map[Usage]*counters) error {
	open := usages{}
	until := q.To
	if q.Now.Before(until) {
		until = q.Now
	}
	args := []any{q.Cluster, until.Unix()}
	from := `open_spans` + joinNamespaces(&args, q.Namespaces, "since")
	err := query(ctx, s.reads, func(rows *sql.Rows) error {
		var sc scanner
		if err := sc.read(rows, 8); err != nil {
			return err
		}
		k := usageKey{UID: sc.text()}
		span := history.Span{Running: sc.int() == 1, From: *sc.time()}
		k.Namespace, k.Queue, k.GPUKind, k.User = sc.text(), sc.text(), sc.text(), sc.text()
		span.GPUs = sc.int()
		begin := span.From
		if begin.Before(q.From) {
			begin = q.From
		}
		spend(open, k, span, begin, until)
		return sc.err
	}, `SELECT uid, running, since, namespace, queue, gpu_kind, user_name, gpus FROM `+from+`
		WHERE cluster = $1 AND since < $2`, args...)
	if err != nil {
		return err
	}
	if err := s.completeOpen(ctx, q, open, sums); err != nil {
		return err
	}
	for k, c := range open {
		sums[q.usage(k)] = sum(sums[q.usage(k)], c)
	}
	return nil
}

// completeOpen reads the earlier usage of running jobs, which may be too small for the limit.
func (s *Store) completeOpen(
	ctx context.Context, q AccountingQuery, open usages, sums map[Usage]*counters,
) error {
	if !q.by(ByJob) || len(sums) < q.Limit {
		return nil
	}
	var uids []any
	for k := range open {
		if !slices.Contains(uids, any(k.UID)) {
			uids = append(uids, k.UID)
		}
	}
	for chunk := range slices.Chunk(uids, 500) {
		if err := s.sums(ctx, q, chunk, MaxUsages*MaxDaysFine, sums); err != nil {
			return err
		}
	}
	return nil
}

func sum(a, b *counters) *counters {
	if a == nil {
		a = &counters{}
	}
	for i := range a {
		a[i] += b[i]
	}
	return a
}

// usage returns the requested dimensions of a key.
func (q *AccountingQuery) usage(k usageKey) Usage {
	var u Usage
	for _, d := range q.By {
		switch d {
		case ByDay:
			u.Day = time.Unix(k.Start, 0).UTC()
		case ByNamespace:
			u.Namespace = k.Namespace
		case ByQueue:
			u.Queue = k.Queue
		case ByUser:
			u.User = k.User
		case ByGPUKind:
			u.GPUKind = k.GPUKind
		case ByJob:
			u.JobUID = k.UID
		}
	}
	return u
}

func (u *Usage) set(c *counters) {
	u.QueuedSeconds, u.RunningSeconds, u.GPUSeconds = c[queuedSeconds], c[runningSeconds], c[gpuSeconds]
	u.LostSeconds, u.LostGPUSeconds = c[lostSeconds], c[lostGPUSeconds]
	u.Jobs, u.Attempts, u.Preemptions = c[jobs], c[attempts], c[preemptions]
	u.Assumed, u.UnknownEnds = c[assumed], c[unknownEnds]
	u.Asked, u.Saved, u.PreemptedLostGPUSeconds = c[asked], c[saved], c[preemptedLostGPUSeconds]
	u.RoomMade, u.RoomSeconds = c[roomMade], c[roomSeconds]
}

func compareUsages(a, b Usage) int {
	return cmp.Or(a.Day.Compare(b.Day), cmp.Compare(b.GPUSeconds, a.GPUSeconds),
		cmp.Compare(b.RunningSeconds, a.RunningSeconds), cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.User, b.User), cmp.Compare(a.GPUKind, b.GPUKind),
		cmp.Compare(a.JobUID, b.JobUID))
}

// nameJobs sets the names of the jobs by UID.
func (s *Store) nameJobs(ctx context.Context, cluster string, all []Usage) error {
	names := map[string][2]string{}
	for chunk := range slices.Chunk(all, 500) {
		args := []any{cluster}
		for _, u := range chunk {
			args = append(args, u.JobUID)
		}
		in := inList(1, len(chunk))
		err := query(ctx, s.reads, func(rows *sql.Rows) error {
			var uid, namespace, name string
			err := rows.Scan(&uid, &namespace, &name)
			names[uid] = [2]string{namespace, name}
			return err
		}, `SELECT uid, namespace, name FROM jobs WHERE cluster = $1 AND uid IN (`+in+`)`, args...)
		if err != nil {
			return err
		}
	}
	for i := range all {
		all[i].Namespace, all[i].JobName = names[all[i].JobUID][0], names[all[i].JobUID][1]
	}
	return nil
}
