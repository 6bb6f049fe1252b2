package boundedlistener

import (
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
)

// ErrTooMuch ends a connection whose other end has sent too much for somebody unknown.
var ErrTooMuch = errors.New("a client that is not known yet has sent too much")

// Conn is a connection that its Listener counts until it is closed.
type Conn struct {
	net.Conn
	listener *Listener

	// received are the bytes that a stranger has sent. trusted is set once the server knows whose the connection
	// is, even where it may not stay: what it asks is then read to its end.
	received int
	trusted  atomic.Bool

	// The listener's lock guards what follows. owner is an address or, once vouched for, a client; group is nil
	// once the connection does not count any more.
	owner    string
	group    *group
	position *list.Element
	number   uint64
}

// Read reads from the connection. It is called by one goroutine at a time, as all servers do.
func (c *Conn) Read(b []byte) (int, error) {
	most := c.listener.bounds.StrangerBytes
	if most == 0 || c.trusted.Load() {
		return c.Conn.Read(b)
	}
	left := most - c.received
	if left <= 0 {
		return 0, ErrTooMuch
	}
	n, err := c.Conn.Read(b[:min(len(b), left)])
	c.received += n
	return n, err
}

// Close closes the connection.
func (c *Conn) Close() error {
	c.listener.forget(c)
	return c.Conn.Close()
}

// cut closes the connection without a farewell, so that the kernel keeps nothing of it. Reads and writes
// that are under way fail.
func (c *Conn) cut() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

type connKey struct{}

// ConnContext is for http.Server: it lets the handlers of a connection vouch for it.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	return context.WithValue(ctx, connKey{}, c)
}

// Vouch tells the listener whose the connection of a request is. It returns false where the connection must
// be closed after the answer, because the listener has no place for one more that stays.
func Vouch(ctx context.Context, client string) bool {
	c, ok := ctx.Value(connKey{}).(*Conn)
	if !ok {
		return true
	}
	c.trusted.Store(true)
	return c.listener.vouch(c, client)
}
