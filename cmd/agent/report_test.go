package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

func clientOf(t *testing.T, s *httptest.Server) *client {
	return &client{server: server{url: s.URL, tokenFile: writeFile(t, filepath.Join(t.TempDir(), "token"), "token"), caPEM: caOf(s)}}
}

var least = checkpoint.Report{Attempt: 1, Phase: checkpoint.PhaseTraining}

func TestEachFailureHasItsWords(t *testing.T) {
	reply := func(code int, body string, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if len(header) == 2 {
				w.Header().Set(header[0], header[1])
			}
			w.WriteHeader(code)
			io.WriteString(w, body)
		}
	}
	redirected := false
	trap := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { redirected = true }))
	defer trap.Close()
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		change  func(*client)
		want    string
	}{
		"redirect":      {reply(307, "", "Location", trap.URL), nil, "never followed"},
		"forbidden":     {reply(403, "not rank 0"), nil, "403 Forbidden: not rank 0 (the token is expired"},
		"unavailable":   {reply(503, "no leader"), nil, "503 Service Unavailable: no leader"},
		"long error":    {reply(500, strings.Repeat("x\n", 1<<20)), nil, "500"},
		"not JSON":      {reply(200, "<html>"), nil, "answer is not JSON"},
		"too long":      {reply(200, `{"command":"None","id":"`+strings.Repeat("a", 1<<20)+`"}`), nil, "more than 4096 bytes"},
		"unknown":       {reply(200, `{"command":"Explode","id":"1"}`), nil, "use one of None, Checkpoint"},
		"more":          {reply(200, `{"command":"None","cmd":"x"}`), nil, "cmd is unknown"},
		"other CA":      {reply(200, ""), func(c *client) { c.server.caPEM = otherPEM }, "not signed by our CA"},
		"other name":    {reply(200, ""), func(c *client) { c.server.url = strings.Replace(c.server.url, "127.0.0.1", "localhost", 1) }, "another name"},
		"no CA":         {reply(200, ""), func(c *client) { c.server.caPEM = "x" }, "holds no certificate"},
		"no token":      {reply(200, ""), func(c *client) { c.server.tokenFile = "/no/such/file" }, "reading the token"},
		"strange token": {reply(200, ""), func(c *client) { os.WriteFile(c.server.tokenFile, []byte("a\r\nX-Evil: 1"), 0o600) }, "holds no token"},
		"gone":          {reply(200, ""), func(c *client) { c.server.url = "https://127.0.0.1:1/" }, "cannot be reached"},
		"no such name":  {reply(200, ""), func(c *client) { c.server.url = "https://report.invalid/" }, "cannot be found"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewTLSServer(tc.handler)
			s.Config.ErrorLog = quiet()
			defer s.Close()
			c := clientOf(t, s)
			if tc.change != nil {
				tc.change(c)
			}
			_, err := c.post(t.Context(), least)
			if err == nil || !strings.Contains(err.Error(), tc.want) || len(err.Error()) > 600 {
				t.Errorf("want %q, got %v", tc.want, err)
			}
			if err != nil && strings.Contains(err.Error(), "Bearer") {
				t.Errorf("the token is in the error: %v", err)
			}
		})
	}
	if redirected {
		t.Error("a redirect was followed")
	}
	t.Run("silence", func(t *testing.T) {
		hold := make(chan struct{})
		s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hold }))
		defer s.Close()
		defer close(hold)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := clientOf(t, s).post(ctx, least); err == nil || !strings.Contains(err.Error(), "in time") {
			t.Errorf("got %v", err)
		}
	})
}

func TestTokensAndCAsRotate(t *testing.T) {
	op := newOperator(t, func(checkpoint.Report) checkpoint.Answer { return checkpoint.Answer{Command: checkpoint.CommandNone} })
	c := clientOf(t, op.Server)
	good := c.server.caPEM
	c.server.caPEM, c.server.caFile = "", writeFile(t, filepath.Join(t.TempDir(), "ca"), otherPEM)
	if _, err := c.post(t.Context(), least); err == nil {
		t.Fatal("another CA was trusted")
	}
	writeFile(t, c.server.caFile, otherPEM+good)
	writeFile(t, c.server.tokenFile, "newer\n")
	if _, err := c.post(t.Context(), least); err != nil || op.tokens[0] != "Bearer newer" {
		t.Errorf("%v, %v", err, op.tokens)
	}
}

// fakeServer is a server whose behaviour the test changes between reports.
type fakeServer struct {
	*httptest.Server
	handle http.HandlerFunc
}

func newReporterStage(t *testing.T) (*reporter, *fakeServer, *fakeClock) {
	s := &fakeServer{}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.handle(w, r) }))
	t.Cleanup(s.Close)
	c := newFakeClock()
	o := &options{attempt: 1, commandFile: filepath.Join(t.TempDir(), "command.json"), server: clientOf(t, s.Server).server}
	r := newReporter(o, newView(), c, quiet(), func(syscall.Signal) {})
	r.jitter = func() float64 { return 0.5 }
	return r, s, c
}

func answering(a checkpoint.Answer) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		data, _ := checkpoint.Encode(a)
		w.Write(data)
	}
}

func TestPace(t *testing.T) {
	r, s, _ := newReporterStage(t)
	var said strings.Builder
	r.log = log.New(&said, "", 0)
	s.handle = answering(checkpoint.Answer{Command: checkpoint.CommandNone})
	if got := r.once(t.Context()); got != 10500*time.Millisecond {
		t.Errorf("until told otherwise: %s", got)
	}
	s.handle = answering(checkpoint.Answer{Command: checkpoint.CommandNone, MinIntervalSeconds: 60})
	if got := r.once(t.Context()); got != 63*time.Second {
		t.Errorf("the operator asked for a minute: %s", got)
	}
	s.handle = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }
	var waits []time.Duration
	for range 9 {
		waits = append(waits, r.once(t.Context()))
	}
	if fmt.Sprint(waits) != "[750ms 1.5s 3s 6s 12s 24s 45s 45s 45s]" {
		t.Errorf("backoff: %v", waits)
	}
	// It is the server's, and says nothing of the volume: a last word that had it would not be believed, and the volume be searched.
	if p, word := r.view.report(1).Problem, lastWord(r.view, r.opts, 0, false, "").Problem; p+word != "" || !strings.Contains(said.String(), "503") {
		t.Errorf("the trouble with the server belongs into the log alone: reported %q, last word %q, log %q", p, word, said.String())
	}
	s.handle = func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "200"); w.WriteHeader(429) }
	if got := r.once(t.Context()); got != 200*time.Second {
		t.Errorf("Retry-After: %s", got)
	}
	s.handle = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "9999999")
		w.WriteHeader(429)
	}
	if got := r.once(t.Context()); got != maxRetryAfter {
		t.Errorf("a Retry-After without measure: %s", got)
	}
	s.handle = answering(checkpoint.Answer{Command: checkpoint.CommandNone})
	if got := r.once(t.Context()); got != 63*time.Second || r.view.report(1).Problem != "" {
		t.Errorf("after the trouble: %s, %q", got, r.view.report(1).Problem)
	}
}

// TestNewsAreToldAtOnce: the clock stands, and still the commit arrives; while the server is in trouble it does not hurry.
func TestNewsAreToldAtOnce(t *testing.T) {
	r, s, c := newReporterStage(t)
	got := make(chan checkpoint.Report, 10)
	s.handle = func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		rep, _ := checkpoint.ParseReport(body)
		answering(checkpoint.Answer{Command: checkpoint.CommandNone, MinIntervalSeconds: 3600})(w, req)
		got <- *rep
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.follow(ctx) }()
	fire := func(d time.Duration) {
		eventually(t, "it waits "+d.String(), func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			n := len(c.waits)
			if n == 0 || c.waits[n-1] != d {
				return false
			}
			select {
			case c.fire[n-1] <- time.Time{}:
			default:
			}
			return true
		})
	}
	fire(0)
	<-got
	r.view.mu.Lock()
	r.view.commit = &checkpoint.Save{State: checkpoint.SaveCommitted, URI: "pvc://claim/a", Step: 5}
	r.view.mu.Unlock()
	r.view.tell()
	fire(hurry)
	if rep := <-got; rep.Checkpoint == nil || rep.Checkpoint.Step != 5 {
		t.Errorf("%+v", rep)
	}
	stop()
	<-done
}

func TestCommandsAreHandedOverOnceAndWhole(t *testing.T) {
	r, s, _ := newReporterStage(t)
	signals := 0
	r.opts.checkpointSignal = syscall.SIGUSR1
	r.notify = func(syscall.Signal) { signals++ }
	deadline := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
	s.handle = answering(checkpoint.Answer{Command: checkpoint.CommandCheckpoint, ID: "a", Deadline: &deadline})
	r.once(t.Context())
	c, err := checkpoint.ParseCommand([]byte(read(t, r.opts.commandFile)))
	if err != nil || c.Command != checkpoint.CommandCheckpoint || c.ID != "a" || !c.Deadline.Equal(deadline) || signals != 1 {
		t.Fatalf("%+v, %v, %d signals", c, err, signals)
	}
	os.Remove(r.opts.commandFile)
	r.once(t.Context())
	if exists(r.opts.commandFile) || signals != 1 || r.view.report(1).DeliveredID != "a" {
		t.Error("the same command came twice")
	}
	s.handle = answering(checkpoint.Answer{Command: checkpoint.CommandCheckpointAndExit, ID: "b"})
	r.once(t.Context())
	if c, err := checkpoint.ParseCommand([]byte(read(t, r.opts.commandFile))); err != nil || c.ID != "b" || signals != 2 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestAFullDiskLosesNoCommand: on a tmpfs of one page that is full the command cannot be written; it is tried again soon, and the old one
// stays whole until then.
func TestAFullDiskLosesNoCommand(t *testing.T) {
	dir := t.TempDir()
	if err := mountTiny(dir); err != nil {
		if runtime.GOOS == "linux" && os.Getuid() == 0 && !errors.Is(err, syscall.EPERM) {
			t.Fatal(err)
		}
		t.Skipf("a tiny file system needs root: %v", err)
	}
	defer unmount(dir)
	r, s, _ := newReporterStage(t)
	r.opts.commandFile = filepath.Join(dir, "command.json")
	s.handle = answering(checkpoint.Answer{Command: checkpoint.CommandCheckpoint, ID: "a"})
	r.once(t.Context())
	filler := filepath.Join(dir, "filler")
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 512))
	}
	f.Close()
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	s.handle = answering(checkpoint.Answer{Command: checkpoint.CommandCheckpointAndExit, ID: "b"})
	if wait := r.once(t.Context()); wait != firstBackoff || !strings.Contains(r.view.report(1).Problem, "no space left") {
		t.Errorf("waits %s: %q", wait, r.view.report(1).Problem)
	}
	if c, err := checkpoint.ParseCommand([]byte(read(t, r.opts.commandFile))); err != nil || c.ID != "a" {
		t.Errorf("the old command is gone: %+v, %v", c, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
	os.Remove(filler)
	s.handle = answering(checkpoint.Answer{Command: checkpoint.CommandNone})
	r.once(t.Context())
	if c, err := checkpoint.ParseCommand([]byte(read(t, r.opts.commandFile))); err != nil || c.ID != "b" || r.view.report(1).Problem != "" {
		t.Errorf("%+v, %v", c, err)
	}
}
