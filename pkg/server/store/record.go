package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// jobsAtOnce is how many jobs one transaction writes. Other writers wait for it.
const jobsAtOnce = 200

// Record merges records into the stored ones, each job in one transaction. Calling it again with the same or
// older records changes nothing. Pruned jobs stay deleted.
func (s *Store) Record(ctx context.Context, records []history.Record) error {
	news := map[history.Key]history.Record{}
	for _, r := range records {
		news[r.Job.Key] = history.Merge(news[r.Job.Key], r)
	}
	keys := slices.SortedFunc(maps.Keys(news), func(a, b history.Key) int {
		return cmp.Or(strings.Compare(a.Cluster, b.Cluster), strings.Compare(string(a.UID), string(b.UID)))
	})
	for len(keys) > 0 {
		n := slices.IndexFunc(keys, func(k history.Key) bool { return k.Cluster != keys[0].Cluster })
		if n < 0 {
			n = len(keys)
		}
		batch := keys[:min(n, jobsAtOnce)]
		keys = keys[len(batch):]
		if err := s.write(ctx, "recording jobs", func(tx *sql.Tx) error {
			return s.record(ctx, tx, batch, news)
		}); err != nil {
			return err
		}
	}
	return nil
}

// record merges and writes jobs of one cluster.
func (s *Store) record(
	ctx context.Context, tx *sql.Tx, keys []history.Key, news map[history.Key]history.Record,
) error {
	keys, err := unpruned(ctx, tx, keys)
	if err != nil || len(keys) == 0 {
		return err
	}
	stored, err := load(ctx, tx, keys, news)
	if err != nil {
		return err
	}
	c := changes{used: usages{}}
	for _, key := range keys {
		had := stored[key]
		is := history.Merge(had.record, news[key])
		c.add(key, had, &is)
	}
	return c.write(ctx, tx, s.dialect)
}

// unpruned returns the jobs that were not pruned.
func unpruned(ctx context.Context, tx *sql.Tx, keys []history.Key) ([]history.Key, error) {
	pruned := map[string]bool{}
	err := query(ctx, tx, func(rows *sql.Rows) error {
		var uid string
		err := rows.Scan(&uid)
		pruned[uid] = true
		return err
	}, `SELECT uid FROM pruned WHERE cluster = $1 AND uid IN (`+inList(1, len(keys))+`)`,
		append([]any{keys[0].Cluster}, uidsOf(keys)...)...)
	return slices.DeleteFunc(slices.Clone(keys), func(k history.Key) bool { return pruned[string(k.UID)] }), err
}

// storedRecord is the stored record of a job; zero if there is none.
type storedRecord struct {
	record  history.Record
	changed int64
}

// load reads the stored records of jobs of one cluster. It reads samples only of attempts in the news: others
// do not change.
func load(
	ctx context.Context, db querier, keys []history.Key, news map[history.Key]history.Record,
) (map[history.Key]*storedRecord, error) {
	all := make(map[history.Key]*storedRecord, len(keys))
	for _, k := range keys {
		all[k] = &storedRecord{}
	}
	args := append([]any{keys[0].Cluster}, uidsOf(keys)...)
	where := ` WHERE cluster = $1 AND uid IN (` + inList(1, len(keys)) + `)`
	err := query(ctx, db, func(rows *sql.Rows) error {
		j, err := scanJob(rows)
		if err != nil {
			return err
		}
		all[j.job.Key].record.Job, all[j.job.Key].changed = j.job, j.changed
		return nil
	}, `SELECT `+jobColumns+` FROM jobs`+where, args...)
	if err != nil {
		return nil, err
	}
	for i := range children {
		t, where, args := &children[i], where, args
		if t.name == samples.name {
			attempts := sampledIn(news)
			if len(attempts) == 0 {
				continue
			}
			where += ` AND attempt IN (` + inList(len(args), len(attempts)) + `)`
			args = append(args[:len(args):len(args)], attempts...)
		}
		if err := loadTable(ctx, db, t, all, where, args); err != nil {
			return nil, err
		}
	}
	for key, stored := range all {
		stored.record.Samples = slices.DeleteFunc(stored.record.Samples, func(sample history.Sample) bool {
			return !slices.ContainsFunc(news[key].Samples, func(n history.Sample) bool {
				return n.Attempt == sample.Attempt
			})
		})
		history.Sort(&stored.record)
	}
	return all, nil
}

func loadTable(
	ctx context.Context, db querier, t *table, all map[history.Key]*storedRecord, where string, args []any,
) error {
	names := t.names()
	columns := strings.Join(names, ", ")
	return query(ctx, db, func(rows *sql.Rows) error {
		var s scanner
		if err := s.read(rows, len(names)+2); err != nil {
			return err
		}
		r := all[keyOf(s.text(), s.text())]
		t.scan(&s, &r.record)
		return s.err
	}, `SELECT cluster, uid, `+columns+` FROM `+t.name+where, args...)
}

// sampledIn returns the attempts of which the news have samples.
func sampledIn(news map[history.Key]history.Record) []any {
	attempts := map[int32]bool{}
	for _, r := range news {
		for _, s := range r.Samples {
			attempts[s.Attempt] = true
		}
	}
	var all []any
	for a := range attempts {
		all = append(all, int64(a))
	}
	return all
}

// changes of a transaction.
type changes struct {
	jobs    []row
	inserts [][]row // by table of children, with cluster and uid
	deletes [][]row // the keys
	used    usages
	opened  []row
	closed  []history.Key
}

// add adds the differences between the stored and the merged record.
func (c *changes) add(key history.Key, had *storedRecord, is *history.Record) {
	if c.inserts == nil {
		c.inserts, c.deletes = make([][]row, len(children)), make([][]row, len(children))
	}
	id := row{key.Cluster, string(key.UID)}
	differs := false
	for i := range children {
		t := &children[i]
		old := map[string]row{}
		for _, r := range t.rows(&had.record) {
			old[fmt.Sprintf("%#v", r[:len(t.key)])] = r
		}
		for _, r := range t.rows(is) {
			at := fmt.Sprintf("%#v", r[:len(t.key)])
			if !slices.Equal(old[at], r) {
				c.inserts[i] = append(c.inserts[i], append(id[:2:2], r...))
				differs = true
			}
			delete(old, at)
		}
		for _, r := range old {
			c.deletes[i] = append(c.deletes[i], append(id[:2:2], r[:len(t.key)]...))
			differs = true
		}
	}
	job := jobRow(is.Job)
	if !differs && had.changed > 0 && slices.Equal(jobRow(had.record.Job), job) {
		return
	}
	c.jobs = append(c.jobs, append(job, had.changed+1, int64(0)))
	c.used.add(usageOf(&had.record), -1)
	c.used.add(usageOf(is), 1)
	before, now := openSpans(&had.record), openSpans(is)
	if !slices.EqualFunc(before, now, func(a, b row) bool { return slices.Equal(a, b) }) {
		c.closed = append(c.closed, key)
		c.opened = append(c.opened, now...)
	}
}

func (c *changes) write(ctx context.Context, tx *sql.Tx, d dialect) error {
	// sent keeps its value if there is one.
	jobs := append(slices.Clone(jobFields), "changed")
	err := upsert(ctx, tx, d, "jobs", append(slices.Clone(jobs), "sent"), c.jobs, jobFields[:2], set(jobs[2:]))
	if err != nil {
		return err
	}
	for i := range children {
		t := &children[i]
		if err := remove(ctx, tx, t, c.deletes[i]); err != nil {
			return err
		}
		keys := append([]string{"cluster", "uid"}, t.key...)
		columns := append(slices.Clone(keys), t.columns...)
		if err := upsert(ctx, tx, d, t.name, columns, c.inserts[i], keys, set(t.columns)); err != nil {
			return err
		}
	}
	for _, key := range c.closed {
		if _, err := tx.ExecContext(ctx, `DELETE FROM open_spans WHERE cluster = $1 AND uid = $2`, key.Cluster,
			string(key.UID)); err != nil {
			return err
		}
	}
	if err := upsert(ctx, tx, d, "open_spans", openFields, c.opened, nil, ""); err != nil {
		return err
	}
	return c.used.write(ctx, tx, d)
}

// remove deletes rows by their keys. It is rare: a set was thinned, or a gap was closed.
func remove(ctx context.Context, tx *sql.Tx, t *table, keys []row) error {
	if len(keys) == 0 {
		return nil
	}
	conditions := []string{"cluster = $1", "uid = $2"}
	for i, name := range t.key {
		conditions = append(conditions, fmt.Sprintf("%s = $%d", name, i+3))
	}
	text := `DELETE FROM ` + t.name + ` WHERE ` + strings.Join(conditions, " AND ")
	for _, key := range keys {
		if _, err := tx.ExecContext(ctx, text, key...); err != nil {
			return err
		}
	}
	return nil
}

// set returns the assignments of an upsert: the new values.
func set(columns []string) string {
	assignments := make([]string, len(columns))
	for i, c := range columns {
		assignments[i] = c + " = excluded." + c
	}
	return strings.Join(assignments, ", ")
}

// upsert inserts rows in batches. Existing rows are changed as update specifies.
func upsert(
	ctx context.Context, tx *sql.Tx, d dialect, table string, columns []string, rows []row, key []string,
	update string,
) error {
	conflict := ""
	switch {
	case len(key) > 0 && update != "":
		conflict = ` ON CONFLICT (` + strings.Join(key, ", ") + `) DO UPDATE SET ` + update
	case len(key) > 0:
		conflict = ` ON CONFLICT (` + strings.Join(key, ", ") + `) DO NOTHING`
	}
	for chunk := range slices.Chunk(rows, min(500, d.maxParameters/len(columns))) {
		var values []string
		var args []any
		for _, r := range chunk {
			values = append(values, "("+d.parameters(len(args), len(columns))+")")
			args = append(args, r...)
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO `+table+` (`+strings.Join(columns, ", ")+`) VALUES `+
			strings.Join(values, ", ")+conflict, args...); err != nil {
			return fmt.Errorf("%s: %w", table, err)
		}
	}
	return nil
}
