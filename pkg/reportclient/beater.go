package reportclient

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// Paths of the report server.
const (
	reportsPath = "/v1/reports"
	beatsPath   = "/v1/beats"
)

const (
	// beatInterval until the operator asks for another.
	beatInterval = 30 * time.Second
	// notServedInterval is how long a Beater waits if the operator takes no beats of this pod.
	notServedInterval = 10 * time.Minute
	// firstBeatBackoff after a beat that failed. It doubles up to a minute, or the interval if that is longer.
	firstBeatBackoff = 2 * time.Second
)

// BeatURL returns the URL of beats, given that of reports.
func BeatURL(reports string) (string, error) {
	u, err := url.Parse(reports)
	if err != nil {
		return "", fmt.Errorf("reading the report URL: %w", err)
	}
	u.Path, u.RawPath, u.RawQuery = strings.TrimSuffix(u.Path, reportsPath)+beatsPath, "", ""
	return u.String(), nil
}

// Beater posts beats at the operator's pace.
type Beater struct {
	Post func(context.Context, checkpoint.Beat) (*checkpoint.BeatAnswer, error)
	// Beat is called for each post.
	Beat func() checkpoint.Beat
	// OnError is called once for each new error, and with nil when beats arrive again.
	OnError func(error)
	After   func(time.Duration) <-chan time.Time

	// jitter returns a number from 0 to 1.
	jitter    func() float64
	interval  time.Duration
	failures  int
	lastError string
}

// Run posts beats until the context ends. The first ones of a gang are spread over two intervals.
func (b *Beater) Run(ctx context.Context) {
	b.init()
	wait := time.Duration(2 * b.jitter() * float64(b.interval))
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.After(wait):
		}
		wait = b.postOnce(ctx)
	}
}

func (b *Beater) init() {
	if b.jitter == nil {
		b.jitter = rand.Float64
	}
	if b.interval == 0 {
		b.interval = beatInterval
	}
}

// postOnce posts a beat and returns how long to wait before the next one.
func (b *Beater) postOnce(ctx context.Context) time.Duration {
	b.init()
	posting, cancel := context.WithTimeout(ctx, PostTimeout)
	defer cancel()
	answer, err := b.Post(posting, b.Beat())
	if err == nil || ctx.Err() == nil { // otherwise the caller has ended it
		b.noteError(err)
	}
	switch {
	case isNotServed(err):
		return b.about(max(notServedInterval, b.interval))
	case err != nil:
		wait := min(firstBeatBackoff<<min(b.failures, 10), max(maxBackoff, b.interval))
		b.failures++
		return max(wait/2+time.Duration(float64(wait/2)*b.jitter()), RetryAfter(err))
	}
	b.failures = 0
	b.interval = time.Duration(answer.MinIntervalSeconds) * time.Second
	return b.about(b.interval)
}

// about returns a time that differs by at most a tenth, so that the ranks of a gang spread out.
func (b *Beater) about(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + b.jitter()/5))
}

func (b *Beater) noteError(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != b.lastError {
		b.lastError = text
		b.OnError(err)
	}
}
