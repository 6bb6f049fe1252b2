package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"net/url"
	"sync"
	"testing"
)

// statement that was sent to the database.
type statement struct {
	text string
	args []any
}

// watch opens the file of a store once more, and notes what is sent to it.
func watch(t *testing.T, s *Store, file string) (*Store, *[]statement) {
	t.Helper()
	sent := &[]statement{}
	w := &watcher{driver: s.writes.Driver(), name: sqliteName(file, url.Values{}, "_txlock", "immediate"), sent: sent}
	db := sql.OpenDB(w)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { must(t, db.Close()) })
	return &Store{dialect: s.dialect, reads: db, writes: db}, sent
}

// watcher is a driver.Connector.
type watcher struct {
	driver driver.Driver
	name   string

	mu   sync.Mutex
	sent *[]statement
}

func (w *watcher) Driver() driver.Driver { return w.driver }

func (w *watcher) Connect(context.Context) (driver.Conn, error) {
	conn, err := w.driver.Open(w.name)
	return &watchedConn{conn, w}, err
}

func (w *watcher) note(text string, args []driver.NamedValue) {
	w.mu.Lock()
	defer w.mu.Unlock()
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = a.Value
	}
	*w.sent = append(*w.sent, statement{text, values})
}

type watchedConn struct {
	driver.Conn
	w *watcher
}

func (c *watchedConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
}

func (c *watchedConn) QueryContext(
	ctx context.Context, text string, args []driver.NamedValue,
) (driver.Rows, error) {
	c.w.note(text, args)
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, text, args)
}

func (c *watchedConn) ExecContext(
	ctx context.Context, text string, args []driver.NamedValue,
) (driver.Result, error) {
	c.w.note(text, args)
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, text, args)
}
