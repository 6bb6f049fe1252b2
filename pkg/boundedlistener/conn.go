package boundedlistener

import (
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
)

// ErrTooMuch ends a stranger's connection that has sent too much.
var ErrTooMuch = errors.New("an unauthenticated client has sent too much")

// Conn is a connection that its Listener counts until it is closed.
type Conn struct {
	net.Conn
	listener *Listener

	// received bytes from a stranger. trusted is set once the server has authenticated the connection, even
	// if it cannot stay: its request is then read to the end.
	received int
	trusted  atomic.Bool

	// The listener's lock guards these. owner is an address or, after Vouch, a client; group is nil once the
	// connection does not count any more.
	owner    string
	group    *group
	position *list.Element
	number   uint64
}

// Read reads from the connection. Like all servers, call it from one goroutine at a time.
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

// cut resets the connection, so that the kernel keeps nothing of it. Reads and writes in progress fail.
func (c *Conn) cut() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

type connKey struct{}

// ConnContext is for http.Server: it lets the handlers of a connection call Vouch.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	return context.WithValue(ctx, connKey{}, c)
}

// Vouch moves the connection of a request to a client. It returns false if the connection must be closed
// after the response, because no more connections can stay.
func Vouch(ctx context.Context, client string) bool {
	c, ok := ctx.Value(connKey{}).(*Conn)
	if !ok {
		return true
	}
	c.trusted.Store(true)
	return c.listener.vouch(c, client)
}
