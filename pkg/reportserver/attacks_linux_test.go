package reportserver

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// attack opens connections of a kind, and returns each that it could open. hold keeps one until the server
// cuts it off.
type attack struct {
	// addresses it comes from, and connections that it holds from each.
	addresses, connections int
	hold                   func(*attacker, net.Conn) error
}

var attacks = map[string]attack{
	"unfinished handshakes from one address":      {1, 5000, (*attacker).unfinishedHandshake},
	"unfinished handshakes from 50 addresses":     {50, 100, (*attacker).unfinishedHandshake},
	"unfinished headers from one address":         {1, 5000, (*attacker).unfinishedHeader},
	"unfinished headers from 50 addresses":        {50, 100, (*attacker).unfinishedHeader},
	"slow bodies without a valid token":           {10, 200, (*attacker).slowBody},
	"slow bodies of a pod with a valid token":     {1, 200, (*attacker).slowBodyOfAPod},
	"silent connections from one address":         {1, 5000, (*attacker).silence},
	"silent connections from 100 addresses":       {100, 50, (*attacker).silence},
	"bad tokens from one address":                 {1, 50, (*attacker).badTokens},
	"bad tokens from 50 addresses":                {50, 4, (*attacker).badTokens},
	"beats of pods with valid tokens":             {50, 40, (*attacker).beat},
	"slow bodies of beats with valid tokens":      {50, 40, (*attacker).slowBeat},
	"connections that are kept open after a word": {10, 300, (*attacker).keptOpen},
}

// attacker plays an attack against a server.
type attacker struct {
	attack
	server *attacked
	opened atomic.Int64
	// pace of new connections: the attack has the machine's cores in common with what it attacks.
	pace *rate.Limiter
	// underWay is closed once most of the connections were open.
	underWay chan struct{}
	once     sync.Once
}

// start holds the attack's connections until the context ends, opening a new one for each that is cut off.
func (a *attacker) start(ctx context.Context) (ended <-chan struct{}) {
	var holders sync.WaitGroup
	for i := range a.addresses {
		dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 66, byte(i/250), byte(i%250+1))},
			Timeout: time.Second}
		for range a.connections {
			holders.Go(func() {
				for ctx.Err() == nil {
					a.open(ctx, dialer)
				}
			})
		}
	}
	done := make(chan struct{})
	go func() {
		holders.Wait()
		close(done)
	}()
	return done
}

func (a *attacker) open(ctx context.Context, dialer *net.Dialer) {
	if a.pace.Wait(ctx) != nil {
		return
	}
	c, err := dialer.DialContext(ctx, "tcp", a.server.address)
	if err != nil {
		return
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	if int(a.opened.Add(1)) >= a.addresses*a.connections*9/10 {
		a.once.Do(func() { close(a.underWay) })
	}
	if a.hold(a, c) == nil {
		_, _ = io.Copy(io.Discard, c) // until the server cuts it off
	}
}

// unfinishedHandshake sends the largest record of a ClientHello without its end.
func (a *attacker) unfinishedHandshake(c net.Conn) error {
	record := append([]byte{22, 3, 1, 0x3f, 0xff, 1, 0, 0xff, 0xf0}, make([]byte, 0x3fff-4)...)
	for range 3 {
		if _, err := c.Write(record); err != nil {
			return err
		}
		record = append([]byte{22, 3, 1, 0x3f, 0xff}, make([]byte, 0x3fff)...)
	}
	return nil
}

func (a *attacker) handshake(c net.Conn) (*tls.Conn, error) {
	secure := tls.Client(c, &tls.Config{RootCAs: a.server.roots, ServerName: host, MinVersion: tls.VersionTLS12})
	return secure, secure.Handshake()
}

// say something after the handshake, and nothing more.
func (a *attacker) say(c net.Conn, what string) error {
	secure, err := a.handshake(c)
	if err == nil {
		_, err = io.WriteString(secure, what)
	}
	return err
}

const requestLine = "POST " + Path + " HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: application/json\r\n"

func (a *attacker) unfinishedHeader(c net.Conn) error {
	return a.say(c, requestLine+"Authorization: Bearer "+strings.Repeat("a", 23<<10))
}

func (a *attacker) slowBody(c net.Conn) error {
	return a.say(c, fmt.Sprintf("%sAuthorization: Bearer bad-%d\r\nContent-Length: 60000\r\n\r\n%s", requestLine,
		a.opened.Load(), strings.Repeat(" ", 50000)))
}

func (a *attacker) slowBodyOfAPod(c net.Conn) error {
	return a.say(c, requestLine+"Authorization: Bearer job-999-worker-0\r\nContent-Length: 60000\r\n\r\n"+
		strings.Repeat(" ", 50000))
}

const beatLine = "POST " + BeatsPath + " HTTP/1.1\r\nHost: " + host +
	"\r\nContent-Type: application/json\r\nAuthorization: Bearer job-%d-worker-0\r\nContent-Length: 30\r\n\r\n"

// beat is a complete one of some pod. The server ends the connection, and the attacker opens the next one.
func (a *attacker) beat(c net.Conn) error {
	return a.say(c, fmt.Sprintf(beatLine+`{"attempt":2,"idleSeconds":10}`, 100+a.opened.Load()%900))
}

func (a *attacker) slowBeat(c net.Conn) error {
	return a.say(c, fmt.Sprintf(beatLine, 100+a.opened.Load()%900))
}

func (a *attacker) silence(net.Conn) error { return nil }

// keptOpen is a complete request that is rejected. The connection is not used again.
func (a *attacker) keptOpen(c net.Conn) error {
	return a.say(c, "GET / HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
}

// badTokens sends one after the other, with new connections where the server closes them.
func (a *attacker) badTokens(c net.Conn) error {
	secure, err := a.handshake(c)
	if err != nil {
		return err
	}
	answers := bufio.NewReader(secure)
	for {
		if _, err := fmt.Fprintf(secure, "%sAuthorization: Bearer guess-%d-%p\r\nContent-Length: 0\r\n\r\n",
			requestLine, a.opened.Add(1), c); err != nil {
			return err
		}
		resp, err := http.ReadResponse(answers, nil)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
}
