package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"mlplatform.example.com/trainingjob-operator/lab/postgres"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

// Limit that each page and report should stay below.
const Limit = 200 * time.Millisecond

// Databases that can be measured.
func Databases() []string { return []string{"sqlite", "postgres"} }

// Options of a benchmark.
type Options struct {
	// Database is one of Databases.
	Database string
	// Attempts that it has, about.
	Attempts int
	// Runs of each question, at least 1.
	Runs int
	// Dir is an existing folder for SQLite's file.
	Dir string
	// Progress is written to while the database is filled.
	Progress io.Writer
}

// Time is how long a question takes.
type Time struct {
	Database, Question string
	// Entries of the answer.
	Entries int
	// Median and Max of all runs, the first one included.
	Median, Max time.Duration
}

// Run fills a database and measures.
func Run(ctx context.Context, o Options) (times []Time, err error) {
	dsn, stop, err := o.empty(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := o.prepare(ctx, dsn); err != nil {
		return nil, err
	}
	s, err := store.Open(ctx, store.Options{DSN: dsn})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, q := range questions() {
		t, err := o.measure(ctx, s, q)
		if err != nil {
			return nil, fmt.Errorf("asking for %s: %w", q.name, err)
		}
		times = append(times, t)
	}
	n := 0
	written, err := o.measure(ctx, s, question{"(written: progress of a job)", func(
		ctx context.Context, s *store.Store,
	) (int, error) {
		n++
		return 1, s.Record(ctx, []history.Record{update(n)})
	}})
	return append(times, written), err
}

// empty makes a database. stop removes it, where it is PostgreSQL's.
func (o Options) empty(ctx context.Context) (dsn string, stop func() error, err error) {
	if !slices.Contains(Databases(), o.Database) {
		return "", nil, fmt.Errorf("database %q is not known: use one of %v", o.Database, Databases())
	}
	if o.Database == "sqlite" {
		file := filepath.Join(o.Dir, "history.db")
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", nil, fmt.Errorf("replacing the database of the last benchmark: %w", err)
		}
		return "sqlite://" + file, func() error { return nil }, nil
	}
	server, err := postgres.Start(ctx, postgres.Options{})
	if err != nil {
		return "", nil, err
	}
	return server.DSN, func() error { return server.Stop(context.WithoutCancel(ctx)) }, nil
}

// prepare fills the database, and leaves nothing of that in the memory of this process.
func (o Options) prepare(ctx context.Context, dsn string) (err error) {
	s, err := store.Open(ctx, store.Options{DSN: dsn})
	if err != nil {
		return err
	}
	began := time.Now()
	err = errors.Join(fill(ctx, s, o.Attempts, o.Progress), s.Close())
	fmt.Fprintf(o.Progress, "filling %s took %s\n", o.Database, time.Since(began).Round(time.Second))
	if err != nil || o.Database != "postgres" {
		return err
	}
	// Its own process does this within a minute or so.
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "VACUUM ANALYZE")
	return errors.Join(err, db.Close())
}

func (o Options) measure(ctx context.Context, s *store.Store, q question) (Time, error) {
	t := Time{Database: o.Database, Question: q.name}
	var all []time.Duration
	for range max(1, o.Runs) {
		began := time.Now()
		entries, err := q.ask(ctx, s)
		if err != nil {
			return t, err
		}
		all, t.Entries = append(all, time.Since(began)), entries
	}
	slices.Sort(all)
	t.Median, t.Max = all[len(all)/2], all[len(all)-1]
	return t, nil
}

// Print writes a table of times, and whether each is below Limit.
func Print(out io.Writer, times []Time) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "DATABASE\tQUESTION\tENTRIES\tMEDIAN\tMAX\tBELOW %s\n", Limit)
	slow := 0
	for _, row := range times {
		below := "yes"
		if row.Max >= Limit {
			below, slow = "no", slow+1
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\n", row.Database, row.Question, row.Entries, inMilliseconds(row.Median),
			inMilliseconds(row.Max), below)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if slow > 0 {
		_, err := fmt.Fprintf(out, "\n%d of %d took %s or longer at least once.\n", slow, len(times), Limit)
		return err
	}
	_, err := fmt.Fprintf(out, "\nAll %d stayed below %s each time.\n", len(times), Limit)
	return err
}

func inMilliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}
