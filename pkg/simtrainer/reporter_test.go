package simtrainer

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

func TestLine(t *testing.T) {
	var answer func(http.ResponseWriter, *http.Request)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r) }))
	defer server.Close()
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	token := func(context.Context) (string, error) { return "the-token", nil }
	l, err := newLine(server.URL, ca, token)
	if err != nil {
		t.Fatal(err)
	}
	post := func() (*checkpoint.Answer, error) {
		return l.post(t.Context(), checkpoint.Report{Attempt: 1, Phase: checkpoint.PhaseTraining, Step: 5})
	}
	answer = func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		report, err := checkpoint.ParseReport(body)
		if err != nil || report.Step != 5 || r.Header.Get("Authorization") != "Bearer the-token" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("posted %s: %v, %v", body, err, r.Header)
		}
		_, _ = io.WriteString(w, `{"command":"Checkpoint","id":"a","minIntervalSeconds":7}`)
	}
	if a, err := post(); err != nil || a.ID != "a" || a.MinIntervalSeconds != 7 {
		t.Errorf("got %+v, %v", a, err)
	}
	answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "9")
		http.Error(w, "not the leader", http.StatusServiceUnavailable)
	}
	var no *refusal
	if _, err := post(); !errors.As(err, &no) || no.retryAfter != 9*time.Second || !strings.Contains(no.text, "not the leader") {
		t.Errorf("got %v", err)
	}
	answer = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}
	if _, err := post(); !errors.As(err, &no) || no.code != http.StatusTemporaryRedirect {
		t.Errorf("a redirect, which would take the token along: %v", err)
	}
	other, err := newLine(server.URL, "", token)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.post(t.Context(), checkpoint.Report{Attempt: 1, Phase: checkpoint.PhaseTraining}); err == nil {
		t.Error("a server that nobody vouches for was trusted")
	}
	if _, err := newLine(server.URL, "no certificate", token); err == nil {
		t.Error("a CA without a certificate was taken")
	}
}

// A reporter whose posts the test answers.
func TestReporter(t *testing.T) {
	type reply struct {
		answer *checkpoint.Answer
		err    error
	}
	clock := clocktesting.NewFakeClock(begin)
	posts, replies, commands := make(chan time.Time), make(chan reply), make(chan checkpoint.Command, 1)
	r := &reporter{
		clock: clock, log: logr.Discard(), news: make(chan struct{}, 1), min: interval,
		view: func() checkpoint.Report { return checkpoint.Report{} },
		post: func(context.Context, checkpoint.Report) (*checkpoint.Answer, error) {
			posts <- clock.Now()
			got := <-replies
			return got.answer, got.err
		},
		take: func(c checkpoint.Command) { commands <- c },
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.follow(ctx) }()
	// after lets time pass, in small steps, until the next post, and says how much it was.
	last := begin
	after := func() time.Duration {
		t.Helper()
		for {
			select {
			case now := <-posts:
				took := now.Sub(last)
				last = now
				return took
			case <-time.After(time.Millisecond):
				if clock.HasWaiters() {
					clock.Step(100 * time.Millisecond)
				}
			}
		}
	}
	between := func(what string, got, low, high time.Duration) {
		t.Helper()
		if got < low || got > high {
			t.Errorf("%s: after %s, want %s to %s", what, got, low, high)
		}
	}
	ok := func(c checkpoint.CommandName) reply {
		return reply{answer: &checkpoint.Answer{Command: c, ID: "a", MinIntervalSeconds: 4}}
	}
	const slack = 500 * time.Millisecond
	between("the first", after(), 0, slack)
	replies <- ok(checkpoint.CommandCheckpoint)
	if c := <-commands; c.ID != "a" {
		t.Errorf("got command %+v", c)
	}
	between("the heartbeat that was asked for", after(), 4*time.Second, 4*time.Second+2*slack)
	replies <- ok(checkpoint.CommandNone)
	r.news <- struct{}{}
	between("news", after(), time.Second, time.Second+slack)
	replies <- reply{err: errors.New("gone")}
	between("the first retry", after(), time.Second/2, time.Second+slack)
	r.news <- struct{}{}
	replies <- reply{err: errors.New("gone")}
	between("the second retry, whatever the news", after(), time.Second, 2*time.Second+slack)
	replies <- reply{err: &refusal{retryAfter: 20 * time.Second}}
	between("what the server asks for", after(), 20*time.Second, 20*time.Second+slack)
	replies <- ok(checkpoint.CommandNone)
	between("the news from then", after(), 0, time.Second+slack)
	cancel()
	replies <- ok(checkpoint.CommandNone)
	<-done
}
