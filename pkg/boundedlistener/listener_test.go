package boundedlistener

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"
)

var start = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// fakeConn is a connection from an address.
type fakeConn struct {
	net.Conn
	from   string
	closed bool
}

func (c *fakeConn) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.ParseIP(c.from), Port: 40000}
}

// Read gives as much as is asked for.
func (c *fakeConn) Read(b []byte) (int, error) { return len(b), nil }

func (c *fakeConn) Close() error {
	c.closed = true
	return nil
}

// fakeListener accepts the connections that are put into it.
type fakeListener struct {
	net.Listener
	queue []*fakeConn
}

func (l *fakeListener) Accept() (net.Conn, error) {
	if len(l.queue) == 0 {
		return nil, io.EOF
	}
	c := l.queue[0]
	l.queue = l.queue[1:]
	return c, nil
}

// play is a listener and the connections that it has accepted, by name.
type play struct {
	t     *testing.T
	clock *testingclock.FakePassiveClock
	inner *fakeListener
	*Listener
	names []string
	conns map[string]*Conn
}

func newPlay(t *testing.T, b Bounds) *play {
	p := &play{t: t, clock: testingclock.NewFakePassiveClock(start), inner: &fakeListener{},
		conns: map[string]*Conn{}}
	p.Listener = New(p.inner, b, p.clock)
	return p
}

// arrive accepts one connection from an address; false: it was not let in.
func (p *play) arrive(name, from string) bool {
	c := &fakeConn{from: from}
	p.inner.queue = append(p.inner.queue, c)
	accepted, err := p.Accept()
	if err != nil {
		if !c.closed {
			p.t.Errorf("%s is neither accepted nor closed", name)
		}
		return false
	}
	p.names = append(p.names, name)
	p.conns[name] = accepted.(*Conn)
	return true
}

func (p *play) vouch(name, client string) bool {
	return Vouch(ConnContext(context.Background(), p.conns[name]), client)
}

// open are the connections that are open, in the order of their arrival.
func (p *play) open() []string {
	var open []string
	for _, name := range p.names {
		if !p.conns[name].Conn.(*fakeConn).closed {
			open = append(open, name)
		}
	}
	return open
}

func (p *play) expectOpen(reason string, want ...string) {
	p.t.Helper()
	if diff := cmp.Diff(want, p.open()); diff != "" {
		p.t.Errorf("%s (-want +got):\n%s", reason, diff)
	}
}

var wideBounds = Bounds{Strangers: 4, StrangersPerAddress: 3, StrangerBytes: 100, Known: 3, KnownPerClient: 2,
	NewPerSecond: 1000, Burst: 1000}

func TestStrangersSendLittle(t *testing.T) {
	p := newPlay(t, wideBounds)
	for name, vouched := range map[string]bool{"known": true, "stranger": false} {
		p.arrive(name, "10.0.0.1")
		c := p.conns[name]
		if n, err := io.ReadFull(c, make([]byte, 60)); n != 60 || err != nil {
			t.Fatalf("%s: read %d, %v", name, n, err)
		}
		if vouched {
			p.vouch(name, "bert")
		}
		n, err := io.ReadFull(c, make([]byte, 60))
		if want := 60; vouched && (n != want || err != nil) {
			t.Errorf("%s: read %d more, %v, want %d", name, n, err, want)
		}
		if want := 40; !vouched && (n != want || !errors.Is(err, ErrTooMuch)) {
			t.Errorf("%s: read %d more, %v, want %d and an error", name, n, err, want)
		}
	}
}

// TestNoBoundOfBytes: a client of a server without Vouch sends many requests.
func TestNoBoundOfBytes(t *testing.T) {
	unbounded := wideBounds
	unbounded.StrangerBytes = 0
	p := newPlay(t, unbounded)
	p.arrive("prometheus", "10.0.0.1")
	if n, err := io.ReadFull(p.conns["prometheus"], make([]byte, 1000)); err != nil {
		t.Errorf("read %d, %v", n, err)
	}
}

// TestNoPlaceForAKnownClient: a client that is known, and may not stay, is answered all the same.
func TestNoPlaceForAKnownClient(t *testing.T) {
	p := newPlay(t, wideBounds)
	for i := range wideBounds.Known {
		p.arrive(fmt.Sprint(i), "10.0.0.1")
		p.vouch(fmt.Sprint(i), fmt.Sprint(i))
	}
	p.arrive("one more", "10.0.0.1")
	if p.vouch("one more", "bert") {
		t.Fatal("there is no place for it")
	}
	if n, err := io.ReadFull(p.conns["one more"], make([]byte, 200)); err != nil {
		t.Errorf("read %d of its 200 bytes, %v", n, err)
	}
}

func TestTheOldestOfAnAddressGoes(t *testing.T) {
	p := newPlay(t, wideBounds)
	for _, name := range []string{"a1", "a2", "a3", "a4"} {
		p.arrive(name, "10.0.0.1")
	}
	p.expectOpen("three of an address", "a2", "a3", "a4")
	p.arrive("a5", "::ffff:10.0.0.1")
	p.expectOpen("an address is the same in both notations", "a3", "a4", "a5")
}

func TestTheHeaviestAddressGoes(t *testing.T) {
	p := newPlay(t, wideBounds)
	p.arrive("b1", "10.0.0.2")
	p.arrive("a1", "10.0.0.1")
	p.arrive("a2", "10.0.0.1")
	p.arrive("a3", "10.0.0.1")
	p.arrive("c1", "10.0.0.3")
	p.expectOpen("the flood pushes out its own, not what is oldest", "b1", "a2", "a3", "c1")
	p.arrive("d1", "10.0.0.4")
	p.expectOpen("again", "b1", "a3", "c1", "d1")
	p.arrive("e1", "10.0.0.5")
	p.expectOpen("all the same: the oldest of all", "a3", "c1", "d1", "e1")
}

func TestKnownConnectionsStay(t *testing.T) {
	p := newPlay(t, wideBounds)
	p.arrive("b1", "10.0.0.1")
	for range 2 {
		if !p.vouch("b1", "bert") {
			t.Error("a connection below the bound was rejected")
		}
	}
	for i := range 20 {
		p.arrive(fmt.Sprint("a", i), "10.0.0.1")
	}
	p.expectOpen("a flood from its own address", "b1", "a17", "a18", "a19")
	p.vouch("a17", "bert")
	p.vouch("a18", "bert")
	p.expectOpen("the client's third replaces its first", "a17", "a18", "a19")
	p.vouch("a19", "carl")
	p.arrive("d1", "10.0.0.4")
	if p.vouch("d1", "dora") {
		t.Error("a fourth connection was accepted")
	}
	if err := p.conns["a19"].Close(); err != nil {
		t.Fatal(err)
	}
	if !p.vouch("d1", "dora") {
		t.Error("one has left")
	}
	if p.vouch("b1", "bert") {
		t.Error("it was cut off: it has no owner")
	}
}

func TestRateOfAnAddress(t *testing.T) {
	bounds := wideBounds
	bounds.NewPerSecond, bounds.Burst = 2, 3
	p := newPlay(t, bounds)
	var got []bool
	for range 4 {
		got = append(got, p.arrive("a", "10.0.0.1"))
	}
	got = append(got, p.arrive("b", "10.0.0.2"))
	p.clock.SetTime(start.Add(time.Second))
	for range 3 {
		got = append(got, p.arrive("a", "10.0.0.1"))
	}
	if diff := cmp.Diff([]bool{true, true, true, false, true, true, true, false}, got); diff != "" {
		t.Errorf("let in (-want +got):\n%s", diff)
	}
}

func TestWithoutABoundedConnection(t *testing.T) {
	if !Vouch(context.Background(), "bert") {
		t.Error("nothing to close")
	}
}

// TestCounts: whatever happens in whatever order, the bounds hold and the counts are those of what is open.
func TestCounts(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		p := newPlay(t, wideBounds)
		for i := range 200 {
			name := func() string { return p.names[random.IntN(len(p.names))] }
			switch what := random.IntN(5); {
			case what < 3 || len(p.names) == 0:
				p.arrive(fmt.Sprint(i), fmt.Sprintf("10.0.0.%d", 1+random.IntN(6)))
			case what == 3:
				p.vouch(name(), fmt.Sprint(random.IntN(3)))
			default:
				_ = p.conns[name()].Close()
			}
			perOwner := map[string]int{}
			for _, n := range p.open() {
				c := p.conns[n]
				perOwner[c.owner]++
				if limit := map[*group]int{p.strangers: wideBounds.StrangersPerAddress,
					p.known: wideBounds.KnownPerClient}[c.group]; perOwner[c.owner] > limit {
					t.Fatalf("seed %d: %s has %d connections, %d are allowed", seed, c.owner, perOwner[c.owner], limit)
				}
			}
			strangers, known := p.Open()
			if strangers > wideBounds.Strangers || known > wideBounds.Known || strangers+known != len(p.open()) {
				t.Fatalf("seed %d: %d strangers and %d known are counted, %d are open", seed, strangers, known,
					len(p.open()))
			}
		}
	}
}
