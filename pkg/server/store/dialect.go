package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

//go:embed migrations
var migrations embed.FS

// dialect has the differences between the databases.
type dialect struct {
	name  string
	goose goose.Dialect
	// maxParameters of one statement.
	maxParameters int
	// lockWriters is a statement that serializes writing transactions.
	lockWriters string
}

var (
	onSQLite = dialect{name: "sqlite", goose: goose.DialectSQLite3, maxParameters: 32766}
	// The number is arbitrary, and must be unique in the database.
	onPostgreSQL = dialect{
		name: "postgres", goose: goose.DialectPostgres, maxParameters: 65535,
		lockWriters: `SELECT pg_advisory_xact_lock(7301946208351117)`,
	}
)

// parameters returns n placeholders after the first ones, for statements with thousands. SQLite also accepts
// $1, but as a name that it searches for.
func (d dialect) parameters(after, n int) string {
	if d.goose == goose.DialectSQLite3 {
		return strings.TrimSuffix(strings.Repeat("?, ", n), ", ")
	}
	return inList(after, n)
}

// target is a database that is not open yet.
type target struct {
	file     string          // of SQLite
	postgres *pgx.ConnConfig // PostgreSQL
}

// parseDSN returns the target. Its errors do not contain the DSN, which can have a password.
func parseDSN(dsn string) (target, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return target{}, errors.New("the URL of the database cannot be read: want " +
			"sqlite:///var/lib/history.db or postgres://user:password@host:5432/database, with reserved " +
			"characters " +
			"such as / and @ percent-encoded")
	}
	switch u.Scheme {
	case "sqlite":
		if u.Host != "" || u.RawQuery != "" || u.Opaque != "" || !filepath.IsAbs(u.Path) {
			return target{}, errors.New("the URL of an SQLite database must be sqlite:// and an absolute " +
				"path, " +
				"such as sqlite:///var/lib/history.db")
		}
		return target{file: u.Path}, nil
	case "postgres", "postgresql":
		config, err := pgx.ParseConfig(dsn)
		if err != nil {
			return target{}, errors.New("the URL of the PostgreSQL database cannot be read: want " +
				"postgres://user:password@host:5432/database?sslmode=verify-full, with parameters that " +
				"libpq knows, " +
				"and files that exist")
		}
		return target{postgres: config}, nil
	}
	return target{}, errors.New("the URL of the database must begin with sqlite:// or postgres://")
}

func (t target) open(connections int) (*Store, error) {
	if t.postgres != nil {
		db := stdlib.OpenDB(*t.postgres)
		db.SetMaxOpenConns(connections)
		db.SetMaxIdleConns(connections)
		return &Store{dialect: onPostgreSQL, reads: db, writes: db}, nil
	}
	// Manifests must not be readable by other users of this machine.
	file, err := os.OpenFile(t.file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	// FULL: committed transactions survive a crash of the machine.
	common := url.Values{"_pragma": {
		"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "temp_store(MEMORY)",
		"cache_size(-32768)",
	}}
	writes, err := sql.Open("sqlite", sqliteName(t.file, common, "_txlock", "immediate"))
	if err != nil {
		return nil, err
	}
	writes.SetMaxOpenConns(1)
	reads, err := sql.Open("sqlite", sqliteName(t.file, common, "_pragma", "query_only(1)"))
	if err != nil {
		return nil, errors.Join(err, writes.Close())
	}
	reads.SetMaxOpenConns(connections)
	reads.SetMaxIdleConns(connections)
	return &Store{dialect: onSQLite, reads: reads, writes: writes}, nil
}

func sqliteName(file string, common url.Values, key, value string) string {
	values := url.Values{}
	for k, v := range common {
		values[k] = append([]string(nil), v...)
	}
	values.Add(key, value)
	return (&url.URL{Scheme: "file", Path: file, RawQuery: values.Encode()}).String()
}

// migrations of the database.
func (s *Store) migrations() (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations/"+s.dialect.name)
	if err != nil {
		return nil, err
	}
	options := []goose.ProviderOption{
		goose.WithDisableGlobalRegistry(true), goose.WithSlog(slog.New(slog.DiscardHandler)),
	}
	if s.dialect.goose == goose.DialectPostgres { // replicas can start concurrently
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return nil, err
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	return goose.NewProvider(s.dialect.goose, s.writes, files, options...)
}

// migrate migrates the database to the version of this program.
func (s *Store) migrate(ctx context.Context) error {
	provider, err := s.migrations()
	if err != nil {
		return fmt.Errorf("reading the migrations of the history: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrating the history: %w", err)
	}
	has, knows, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("reading the version of the history: %w", err)
	}
	if has > knows {
		return fmt.Errorf("the history has version %d, this program supports %d: run the newer program, "+
			"or restore a backup from before the upgrade", has, knows)
	}
	return nil
}
