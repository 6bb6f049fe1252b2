//go:build cluster

package store

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/lab/postgres"
)

type postgresServer struct {
	server *postgres.Server
	made   atomic.Int32
}

func startPostgres(t *testing.T) *postgresServer {
	t.Helper()
	server, err := postgres.Start(t.Context(), postgres.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, server.Stop(context.WithoutCancel(t.Context()))) })
	return &postgresServer{server: server}
}

func (p *postgresServer) database(t *testing.T) string {
	dsn, err := p.server.Create(t.Context(), fmt.Sprintf("history%d", p.made.Add(1)))
	must(t, err)
	return dsn
}

func TestPostgreSQL(t *testing.T) { runSuite(t, startPostgres(t)) }

// TestFailingWrites: while the database takes no writes, as on a full disk, reads go on, and writes catch up.
func TestFailingWrites(t *testing.T) {
	p := startPostgres(t)
	dsn := p.database(t)
	s := open(t, dsn)
	rs := played(1)
	must(t, s.Record(t.Context(), rs[:5]))
	before := whole(t, s, rs[0].Job.Key)
	set := func(value string) {
		t.Helper()
		_, err := s.writes.ExecContext(t.Context(), `SET default_transaction_read_only = `+value)
		must(t, err)
	}
	s.writes.SetMaxOpenConns(1)
	set("on")
	for doing, err := range map[string]error{
		"recording jobs": s.Record(t.Context(), rs), "writing the history": s.Writable(t.Context()),
	} {
		if err == nil || !strings.Contains(err.Error(), doing) {
			t.Errorf("error %v", err)
		}
	}
	if diff := cmp.Diff(before, whole(t, s, rs[0].Job.Key)); diff != "" {
		t.Errorf("reads do not go on:\n%s", diff)
	}
	set("off")
	must(t, s.Record(t.Context(), rs))
	usageIsTheSum(t, s)
}

// TestReplicasStartTogether: each of them would create the tables.
func TestReplicasStartTogether(t *testing.T) {
	dsn := startPostgres(t).database(t)
	errs := make(chan error)
	for range 4 {
		go func() {
			s, err := Open(t.Context(), Options{DSN: dsn})
			if err == nil {
				err = s.Close()
			}
			errs <- err
		}()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
