//go:build cluster

package postgres_test

import (
	"database/sql"
	"os"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"mlplatform.example.com/trainingjob-operator/lab/postgres"
)

// TestServer: it answers in databases of its own, and nothing is left of it, although a client stays
// connected.
func TestServer(t *testing.T) {
	t.Setenv("TMPDIR", "/tmp") // the path of a socket is short
	server, err := postgres.Start(t.Context(), postgres.Options{Settings: map[string]string{"work_mem": "9MB"}})
	if err != nil {
		t.Fatal(err)
	}
	dsn, err := server.Create(t.Context(), "history")
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var name, memory string
	row := db.QueryRowContext(t.Context(), "SELECT current_database(), current_setting('work_mem')")
	if err := row.Scan(&name, &memory); err != nil || name != "history" || memory != "9MB" {
		t.Errorf("database %q with work_mem %q: %v", name, memory, err)
	}
	if err := server.Stop(t.Context()); err != nil {
		t.Errorf("stopping: %v", err)
	}
	if err := db.PingContext(t.Context()); err == nil {
		t.Error("it answers after its end")
	}
	_, folder, _ := strings.Cut(server.DSN, "host=")
	if _, err := os.Stat(strings.ReplaceAll(folder, "%2F", "/")); !os.IsNotExist(err) {
		t.Errorf("its folder is left: %v", err)
	}
}

// TestStartFails says what is missing.
func TestStartFails(t *testing.T) {
	_, err := postgres.Start(t.Context(), postgres.Options{Bin: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "initdb") {
		t.Errorf("error %v", err)
	}
}
