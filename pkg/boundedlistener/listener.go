package boundedlistener

import (
	"net"
	"net/netip"
	"sync"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
)

// maxRatedAddresses is the number of addresses with a rate.
const maxRatedAddresses = 4096

// Bounds of a Listener. All except StrangerBytes are required.
type Bounds struct {
	// Strangers are the connections before Vouch, in all and of one address.
	Strangers, StrangersPerAddress int
	// StrangerBytes are what a connection can send before Vouch: handshake and header, and what is read ahead
	// of a body. Zero: no limit, for servers that do not call Vouch.
	StrangerBytes int
	// Known are the connections after Vouch, in all and of one client.
	Known, KnownPerClient int
	// NewPerSecond are the connections that one address can open, after a Burst of them.
	NewPerSecond rate.Limit
	Burst        int
}

// Listener accepts connections within bounds.
type Listener struct {
	net.Listener
	bounds Bounds
	clock  clock.PassiveClock

	mu               sync.Mutex
	strangers, known *group
	rates            *rates
}

// New limits a listener. A connection beyond the limits is closed, so Accept never waits for another one to
// end.
func New(inner net.Listener, b Bounds, c clock.PassiveClock) *Listener {
	return &Listener{
		Listener: inner, bounds: b, clock: c, strangers: newGroup(), known: newGroup(),
		rates: newRates(b.NewPerSecond, b.Burst, maxRatedAddresses),
	}
}

// Accept returns the next connection that can stay, a *Conn. It cuts off another one if necessary.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &Conn{Conn: accepted, listener: l, owner: addressOf(accepted)}
		if !l.rates.take(c.owner, l.clock.Now()) {
			c.cut()
			continue
		}
		if excess := l.admit(c); excess != nil {
			excess.cut()
		}
		return c, nil
	}
}

// admit counts a stranger's connection, and returns the one to cut off for it, if any.
func (l *Listener) admit(c *Conn) *Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.strangers.add(c)
	switch {
	case l.strangers.of(c.owner) > l.bounds.StrangersPerAddress:
		return l.strangers.removeOldest(c.owner)
	case l.strangers.total > l.bounds.Strangers:
		return l.strangers.removeOldest(l.strangers.heaviest())
	}
	return nil
}

// vouch moves a connection to those of a client. It returns false if no more connections can stay, or if the
// connection was cut off meanwhile.
func (l *Listener) vouch(c *Conn, client string) bool {
	l.mu.Lock()
	if c.group == l.known && c.owner == client {
		l.mu.Unlock()
		return true
	}
	if c.group != l.strangers || l.known.total >= l.bounds.Known {
		l.mu.Unlock()
		return false
	}
	l.strangers.remove(c)
	c.owner = client
	l.known.add(c)
	var excess *Conn
	if l.known.of(client) > l.bounds.KnownPerClient {
		excess = l.known.removeOldest(client)
	}
	l.mu.Unlock()
	if excess != nil {
		excess.cut()
	}
	return true
}

func (l *Listener) forget(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.group != nil {
		c.group.remove(c)
	}
}

// Open returns the number of open connections of strangers and of clients.
func (l *Listener) Open() (strangers, known int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.strangers.total, l.known.total
}

// addressOf returns the client's address, without the port.
func addressOf(c net.Conn) string {
	remote := c.RemoteAddr().String()
	if at, err := netip.ParseAddrPort(remote); err == nil {
		return at.Addr().Unmap().WithZone("").String()
	}
	return remote
}
