package reportclient

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

func TestIntervals(t *testing.T) {
	var answer *checkpoint.Answer
	var err error
	var failures []string
	r := &Reporter{
		Post:    func(context.Context, checkpoint.Report) (*checkpoint.Answer, error) { return answer, err },
		Report:  func() checkpoint.Report { return least },
		OnError: func(err error) { failures = append(failures, fmt.Sprint(err)) },
		jitter:  func() float64 { return 0.5 },
	}
	waits := func(times int) string {
		var all []time.Duration
		for range times {
			all = append(all, r.PostOnce(t.Context()))
		}
		return fmt.Sprint(all)
	}
	answer = &checkpoint.Answer{Command: checkpoint.CommandNone}
	if got := waits(1); got != "[10.5s]" {
		t.Errorf("by default: %s", got)
	}
	answer.MinIntervalSeconds = 60
	if got := waits(1); got != "[1m3s]" {
		t.Errorf("the operator asked for a minute: %s", got)
	}
	err = errors.New("no leader")
	if got := waits(9); got != "[750ms 1.5s 3s 6s 12s 24s 45s 45s 45s]" {
		t.Errorf("backoff: %s", got)
	}
	err = &rejection{text: "too many", retryAfter: 200 * time.Second}
	if got := waits(1); got != "[3m20s]" {
		t.Errorf("Retry-After: %s", got)
	}
	err, answer = nil, &checkpoint.Answer{Command: checkpoint.CommandNone}
	if got := waits(1); got != "[1m3s]" {
		t.Errorf("after the errors: %s", got)
	}
	if got := fmt.Sprint(failures); got != "[no leader too many <nil>]" {
		t.Errorf("each error is reported once: %s", got)
	}
}

func TestFailedCommandIsRetriedSoon(t *testing.T) {
	answer := &checkpoint.Answer{Command: checkpoint.CommandCheckpoint, ID: "a", MinIntervalSeconds: 60}
	full := errors.New("the disk is full")
	var taken []string
	r := &Reporter{
		Post:   func(context.Context, checkpoint.Report) (*checkpoint.Answer, error) { return answer, nil },
		Report: func() checkpoint.Report { return least }, OnError: func(error) {},
		HandleCommand: func(c checkpoint.Command) error { taken = append(taken, c.ID); return full },
	}
	if wait := r.PostOnce(t.Context()); wait != FirstBackoff {
		t.Errorf("waits %s", wait)
	}
	answer = &checkpoint.Answer{Command: checkpoint.CommandNone}
	full = nil
	if wait := r.PostOnce(t.Context()); wait < time.Minute || fmt.Sprint(taken) != "[a a]" {
		t.Errorf("waits %s, taken %v", wait, taken)
	}
	if r.PostOnce(t.Context()); len(taken) != 2 {
		t.Errorf("it came again: %v", taken)
	}
}

// TestNewsIsReportedAtOnce, unless the last post failed. The test answers the posts.
func TestNewsIsReportedAtOnce(t *testing.T) {
	type reply struct {
		answer *checkpoint.Answer
		err    error
	}
	clock := clocktesting.NewFakeClock(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC))
	posts, replies, commands := make(chan time.Time), make(chan reply), make(chan checkpoint.Command, 1)
	news := make(chan struct{}, 1)
	r := &Reporter{
		After: clock.After, News: news, OnError: func(error) {},
		Report: func() checkpoint.Report { return least },
		Post: func(context.Context, checkpoint.Report) (*checkpoint.Answer, error) {
			posts <- clock.Now()
			got := <-replies
			return got.answer, got.err
		},
		HandleCommand: func(c checkpoint.Command) error { commands <- c; return nil },
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	// after moves the clock in small steps until the next post, and returns how long that took.
	last := clock.Now()
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
	between("the interval that was asked for", after(), 4*time.Second, 4*time.Second+2*slack)
	replies <- ok(checkpoint.CommandNone)
	news <- struct{}{}
	between("news", after(), time.Second, time.Second+slack)
	replies <- reply{err: errors.New("gone")}
	between("the first retry", after(), time.Second/2, time.Second+slack)
	news <- struct{}{}
	replies <- reply{err: errors.New("gone")}
	between("the second retry, whatever the news", after(), time.Second, 2*time.Second+slack)
	replies <- reply{err: &rejection{retryAfter: 20 * time.Second}}
	between("what the server asks for", after(), 20*time.Second, 20*time.Second+slack)
	replies <- ok(checkpoint.CommandNone)
	between("the news from then", after(), 0, time.Second+slack)
	cancel()
	replies <- ok(checkpoint.CommandNone)
	<-done
}
