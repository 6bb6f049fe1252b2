package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"mlplatform.example.com/trainingjob-operator/pkg/boundedyaml"
	"mlplatform.example.com/trainingjob-operator/pkg/server/shield"
)

// TestManyLargeBodies: 20 bodies of one caller, at the same time, keep the server below its limit, and others
// are answered. "the most nodes" is just below the bound, in the shape that takes the most memory.
func TestManyLargeBodies(t *testing.T) {
	a := startAttacked(t)
	const alias = "a: &a 1\nb: *a\nc: ["
	for name, wave := range map[string]struct {
		body string
		want []int
	}{
		"too many nodes": {alias + strings.Repeat("a,", 3<<18-20) + "]\n", []int{http.StatusRequestEntityTooLarge}},
		"the most nodes": {
			alias + strings.Repeat("a: b,", boundedyaml.MaxNodes/4-10) + "]\n",
			[]int{http.StatusBadRequest, http.StatusServiceUnavailable, http.StatusTooManyRequests},
		},
		"JSON": {
			`{"spec": {"volumes": [` + strings.Repeat("{},", boundedyaml.MaxNodes/4-10) + `{}]}}`,
			[]int{http.StatusBadRequest, http.StatusServiceUnavailable, http.StatusTooManyRequests},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var all sync.WaitGroup
			for range shield.Default().RequestsPerCaller {
				all.Go(func() {
					if got := a.create("mallory", wave.body); !slices.Contains(wave.want, got) {
						t.Errorf("answered with %d", got)
					}
				})
			}
			if got := a.create("mia", "kind: Job"); got != http.StatusBadRequest {
				t.Errorf("the request of another caller is answered with %d", got)
			}
			all.Wait()
		})
	}
	a.expectPeak(600 << 20)
}

// TestStalledHeaders: two addresses hold as many connections as they can, each with the largest header and no
// end of it, and the server stays small and answers others.
func TestStalledHeaders(t *testing.T) {
	a := startAttacked(t)
	header := "GET / HTTP/1.1\r\nHost: server\r\nX: " + strings.Repeat("a", 64_000)
	for range 2_000 {
		for _, from := range []string{"127.0.0.2", "127.0.0.3"} {
			_, _ = io.WriteString(a.dial(from), header) // the server may have cut it
		}
	}
	if got := a.create("mia", "kind: Job"); got != http.StatusBadRequest {
		t.Errorf("the request of another address is answered with %d", got)
	}
	a.expectPeak(400 << 20)
}

// TestStalledLoginsOfServer: logins that send no body take places of their address only, and no place of a
// request with a token.
func TestStalledLoginsOfServer(t *testing.T) {
	a := startAttacked(t)
	const stalled = 4 * 64 // shield takes 64 of an address, for 5 seconds each
	answers := make(chan string, stalled)
	stall := func() {
		conn := a.dial("127.0.0.2")
		fmt.Fprint(conn, "POST /login HTTP/1.1\r\nHost: server\r\nContent-Length: 100\r\n"+
			"Content-Type: application/x-www-form-urlencoded\r\n\r\n")
		go func() {
			line, _ := bufio.NewReader(conn).ReadString('\n')
			answers <- line
		}()
	}
	for range stalled {
		stall()
	}
	for n, rejected := 0, false; !rejected; n++ {
		if n == stalled {
			t.Fatal("no login is answered with 429")
		}
		rejected = strings.Contains(<-answers, "429")
	}
	if got := a.create("mia", "kind: Job"); got != http.StatusBadRequest {
		t.Errorf("a request with a token is answered with %d", got)
	}
}

// TestFloodBehindIngress: the connection of a known caller stays, though strangers with the same address open
// more than the server holds.
func TestFloodBehindIngress(t *testing.T) {
	a := startAttacked(t)
	const from = "127.0.0.2"
	conn := a.dial(from)
	answers := bufio.NewReader(conn)
	ask := func(when string) {
		t.Helper()
		fmt.Fprint(conn, "GET /api/v1/clusters HTTP/1.1\r\nHost: server\r\nAuthorization: Bearer mia\r\n\r\n")
		response, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatalf("%s the flood: %v", when, err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("%s the flood: %s, %v", when, response.Status, err)
		}
	}
	ask("before")
	for range 2 * apiConnections.StrangersPerAddress {
		fmt.Fprint(a.dial(from), "GET / HTTP/1.1\r\n")
	}
	last := a.dial(from) // the server accepts it after the others
	fmt.Fprint(last, "GET /version HTTP/1.1\r\nHost: server\r\n\r\n")
	if response, err := http.ReadResponse(bufio.NewReader(last), nil); err != nil ||
		response.StatusCode != http.StatusOK {
		t.Errorf("a new connection: %v", err)
	}
	ask("after")
}

// TestLimitsBehindIngress: one client behind an ingress sends bad tokens until it is stopped, and others
// behind the same ingress are answered. It cannot have their limits counted, nor can a client that is no
// proxy.
func TestLimitsBehindIngress(t *testing.T) {
	a := startAttacked(t)
	const mallory, mia = "203.0.113.66", "203.0.113.7"
	ask := func(from, forwarded, token string) int {
		t.Helper()
		conn := a.dial(from)
		fmt.Fprintf(conn, "GET /api/v1/clusters HTTP/1.1\r\nHost: server\r\nX-Forwarded-For: %s\r\n"+
			"Authorization: Bearer %s\r\nConnection: close\r\n\r\n", forwarded, token)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode
	}
	bad := 0
	exhaust := func(from, forwarded string) {
		t.Helper()
		for range 1000 {
			bad++
			switch got := ask(from, forwarded, fmt.Sprint("bad-", bad)); got {
			case http.StatusTooManyRequests:
				return
			case http.StatusUnauthorized:
			default:
				t.Fatalf("a bad token is answered with %d", got)
			}
		}
		t.Fatalf("bad tokens of %s are not limited", forwarded)
	}
	exhaust(ingress, mallory)
	if got := ask(ingress, mia, "mia-1"); got != http.StatusOK {
		t.Errorf("another client of the ingress is answered with %d", got)
	}
	exhaust(ingress, mia+", "+mallory) // the ingress adds the address of its client
	if got := ask(ingress, mia, "mia-2"); got != http.StatusOK {
		t.Errorf("the client whose address was forged is answered with %d", got)
	}
	exhaust("127.0.0.10", mia) // no proxy
	if got := ask(ingress, mia, "mia-3"); got != http.StatusOK {
		t.Errorf("after forgeries by a client without ingress it is answered with %d", got)
	}
	conn := a.dial(ingress) // connections are shared, and stay open
	answers := bufio.NewReader(conn)
	for _, client := range []string{mia, "203.0.113.8"} {
		fmt.Fprintf(conn, "GET /api/v1/clusters HTTP/1.1\r\nHost: server\r\nX-Forwarded-For: %s\r\n"+
			"Authorization: Bearer mia\r\n\r\n", client)
		response, err := http.ReadResponse(answers, nil)
		if err != nil || response.Close {
			t.Fatalf("on a shared connection: %v, %+v", err, response)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Fatal(err)
		}
	}
}
