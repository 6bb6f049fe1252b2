package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

type sqliteFiles struct{}

func (sqliteFiles) database(t *testing.T) string {
	return "sqlite://" + filepath.Join(t.TempDir(), "history.db")
}

func TestSQLite(t *testing.T) { runSuite(t, sqliteFiles{}) }

// TestFullDisk: writes fail and reads succeed; once the disk has space, the same writes succeed.
func TestFullDisk(t *testing.T) {
	s := open(t, sqliteFiles{}.database(t))
	first := played(1)
	must(t, s.Record(t.Context(), first))
	before := whole(t, s, first[0].Job.Key)
	var pages int
	must(t, s.writes.QueryRowContext(t.Context(), `PRAGMA page_count`).Scan(&pages))
	limit := func(n int) {
		t.Helper()
		var is int
		must(t, s.writes.QueryRowContext(t.Context(), fmt.Sprintf(`PRAGMA max_page_count = %d`, n)).Scan(&is))
	}
	limit(pages)
	var all []history.Record
	for seed := range uint64(30) {
		all = append(all, played(seed+100)...)
	}
	err := s.Record(t.Context(), all)
	if err == nil || !strings.Contains(err.Error(), "full") {
		t.Fatalf("writing on a full disk: %v", err)
	}
	if diff := cmp.Diff(before, whole(t, s, first[0].Job.Key)); diff != "" {
		t.Errorf("reads do not go on:\n%s", diff)
	}
	must(t, s.Ping(t.Context()))
	limit(1 << 30)
	must(t, s.Record(t.Context(), all))
	usageIsTheSum(t, s)
}

// TestQueriesUseIndexes asks SQLite how it would list jobs: by which index, in whose order, as far as a page
// goes.
func TestQueriesUseIndexes(t *testing.T) {
	s := open(t, sqliteFiles{}.database(t))
	no := false
	some := named("a", "b")
	finished := []v1alpha1.Phase{v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed}
	for index, queries := range map[string][]JobsQuery{
		"jobs_created (cluster=? AND":                               {{}},
		"jobs_phase (cluster=? AND phase=? AND":                     {{Phases: finished}},
		"jobs_namespace (cluster=? AND namespace=? AND":             {{Namespaces: some}},
		"jobs_namespace_phase (cluster=? AND namespace=? AND phase": {{Namespaces: some, Phases: finished}},
		"jobs_name (cluster=? AND namespace=? AND name=? AND":       {{Namespaces: some[:1], Name: "x"}},
		"jobs_user (cluster=? AND user_name=? AND":                  {{User: "ada"}},
		"jobs_queue (cluster=? AND queue=? AND":                     {{Queue: "q"}},
		"jobs_queue_phase (cluster=? AND queue=? AND phase=? AND":   {{Queue: "q", Phases: finished}},
		"jobs_existing (cluster=? AND":                              {{Deleted: &no}},
		"jobs_namespace_existing (cluster=? AND namespace=? AND":    {{Namespaces: some, Deleted: &no}},
	} {
		for _, q := range queries {
			q.Cluster, q.Limit = "lab", 100
			q.Cursor = cursor{Created: 5, UID: "u", Query: q.digest()}.encode()
			text, args, err := q.statement()
			must(t, err)
			sorts := 0
			for _, step := range plan(t, s, text, args) {
				if strings.Contains(step, " jobs ") && !strings.HasPrefix(step, "SEARCH jobs USING INDEX "+index) {
					t.Errorf("want %s:\n%s\n%s", index, step, text)
				}
				if step == "USE TEMP B-TREE FOR ORDER BY" {
					sorts++
				}
			}
			if sorts > 1 { // one brings the pages of all lists into their order
				t.Errorf("a whole list is sorted:\n%s", text)
			}
		}
	}
}

// TestMethodsUseIndexes asks SQLite the same of what the other methods send.
func TestMethodsUseIndexes(t *testing.T) {
	dsn := sqliteFiles{}.database(t)
	s := open(t, dsn)
	watched, sent := watch(t, s, strings.TrimPrefix(dsn, "sqlite://"))
	key := history.Key{Cluster: "lab", UID: "u"}
	must(t, watched.Record(t.Context(), played(1)))
	if _, err := watched.Job(t.Context(), key); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	_, err := watched.Samples(t.Context(), key, SamplesQuery{Attempt: 1, After: &SamplePosition{1, 2}})
	must(t, err)
	for _, by := range [][]Dimension{nil, {ByDay}, {ByUser}, {ByJob}, {ByQueue, ByNamespace}} {
		_, err := watched.Accounting(t.Context(), AccountingQuery{
			Cluster: "lab", From: day(0), To: day(31), By: by, Limit: 1, Now: day(31),
		})
		must(t, err)
	}
	must(t, watched.Unfinished(t.Context(), "lab", func(history.Key, string, string) error { return nil }))
	_, err = watched.PendingRuns(t.Context(), "lab", "", 9)
	must(t, err)
	if err := watched.SetRun(t.Context(), Run{Key: key}); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	_, err = watched.Prune(t.Context(), day(900))
	must(t, err)
	session := sessionOf("jane", "a", loginTime)
	must(t, watched.MakeSession(t.Context(), session, 2))
	must(t, watched.UseSession(t.Context(), session.ID, loginTime.Add(time.Hour)))
	_, err = watched.Session(t.Context(), session.ID, loginTime)
	must(t, err)
	_, err = watched.CountSessions(t.Context(), loginTime)
	must(t, err)
	_, err = watched.PruneSessions(t.Context(), loginTime)
	must(t, err)
	must(t, watched.EndSession(t.Context(), session.ID))
	if len(*sent) < 20 {
		t.Errorf("only %d statements were sent", len(*sent))
	}
	// Those that another index would answer, too, but by walking through what is of no interest.
	best := map[string]string{"j.changed > j.sent": "jobs_unsent", "exists_still = 1": "jobs_existing"}
	for _, statement := range *sent {
		steps := plan(t, s, statement.text, statement.args)
		for _, step := range steps {
			if scans(step) {
				t.Errorf("%s\n%s", step, statement.text)
			}
		}
		for part, index := range best {
			if strings.Contains(statement.text, part) {
				if !strings.Contains(strings.Join(steps, "\n"), index) {
					t.Errorf("want %s: %q\n%s", index, steps, statement.text)
				}
			}
		}
	}
}

// scans reports whether a step reads a table whole. What a step makes itself is no table.
func scans(step string) bool {
	made := regexp.MustCompile(`^SCAN (\(|b\d|parts|listed|CONSTANT|\d)`)
	return strings.HasPrefix(step, "SCAN ") && !made.MatchString(step)
}

func plan(t *testing.T, s *Store, text string, args []any) []string {
	t.Helper()
	var steps []string
	must(t, query(t.Context(), s.reads, func(rows *sql.Rows) error {
		var id, parent, unused int
		var detail string
		err := rows.Scan(&id, &parent, &unused, &detail)
		steps = append(steps, detail)
		return err
	}, "EXPLAIN QUERY PLAN "+text, args...))
	return steps
}

func TestDSN(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ dsn, says string }{
		"nothing":          {"", "must begin with sqlite:// or postgres://"},
		"another database": {"mysql://root:secret@db/x", "must begin with"},
		"a relative path":  {"sqlite://history.db", "absolute path"},
		"pragmas":          {"sqlite://" + dir + "/h.db?_pragma=secret", "and an absolute path"},
		"no folder":        {"sqlite://" + dir + "/nowhere/secret/../h.db", "no such file or directory"},
		"a bad character":  {"postgres://u:sec%ret@db/x", "percent-encoded"},
		"a bad port":       {"postgres://u:secret@db:port/x", "percent-encoded"},
		"a bad parameter":  {"postgres://u:secret@db/x?sslmode=secret", "libpq"},
		"no server":        {"postgres://u:secret@127.0.0.1:1/x?connect_timeout=5", "refused"},
		"no file of a root": {"postgres://u:secret@db/x?sslmode=verify-ca&sslrootcert=/none",
			"files that exist"},
	} {
		_, err := Open(t.Context(), Options{DSN: c.dsn})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, part := range []string{"u:", "secret@", "=secret", "sec%ret"} {
			if strings.Contains(err.Error(), part) {
				t.Errorf("%s: the error has the password: %v", name, err)
			}
		}
	}
}

// TestFileIsPrivate: other users of the machine cannot read manifests.
func TestFileIsPrivate(t *testing.T) {
	dsn := sqliteFiles{}.database(t)
	open(t, dsn)
	info, err := os.Stat(strings.TrimPrefix(dsn, "sqlite://"))
	if must(t, err); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

// TestSchemasAgree: the databases differ in the names of types and in options of tables alone.
func TestSchemasAgree(t *testing.T) {
	read := func(name string) string {
		files, err := fs.Glob(migrations, "migrations/"+name+"/*.sql")
		if must(t, err); len(files) < 3 {
			t.Fatalf("the migrations of %s are %q", name, files)
		}
		all := ""
		for _, file := range files {
			text, err := migrations.ReadFile(file)
			must(t, err)
			all += path.Base(file) + "\n" + regexp.MustCompile(` +`).ReplaceAllString(string(text), " ")
		}
		return all
	}
	ours := strings.NewReplacer("BIGINT", "INTEGER", ` COLLATE "C"`, "").Replace(read("postgres"))
	theirs := strings.NewReplacer(") STRICT, WITHOUT ROWID;", ");", ") STRICT;", ");").Replace(read("sqlite"))
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("(-sqlite +postgres):\n%s", diff)
	}
}

// TestReadersDoNotWait for a writer, nor does the end of a context wait for one.
func TestReadersDoNotWait(t *testing.T) {
	s := open(t, sqliteFiles{}.database(t))
	must(t, s.Record(t.Context(), played(1)))
	must(t, s.write(t.Context(), "writing", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(t.Context(), `DELETE FROM usage`); err != nil {
			return err
		}
		if n := len(s.usages(t)); n == 0 {
			t.Error("what is not committed is read")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Record(ctx, played(2)); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		return nil
	}))
}
