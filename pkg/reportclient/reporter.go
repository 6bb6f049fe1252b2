package reportclient

import (
	"context"
	"math/rand/v2"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

const (
	// defaultInterval between reports, until the operator asks for another.
	defaultInterval = 10 * time.Second
	// minInterval between two reports, even if there is news.
	minInterval = time.Second
	// PostTimeout bounds one report.
	PostTimeout = 10 * time.Second
	// LastTimeout bounds the last report: the pod is about to end.
	LastTimeout = 3 * time.Second
	// FirstBackoff after a report that failed. It doubles up to maxBackoff.
	FirstBackoff = time.Second
	maxBackoff   = time.Minute
)

// Reporter posts reports and hands over the commands in the answers. So the heartbeat is also the command
// channel.
type Reporter struct {
	Post func(context.Context, checkpoint.Report) (*checkpoint.Answer, error)
	// Report is called for each post.
	Report func() checkpoint.Report
	// HandleCommand is called with each command that arrives. Every answer repeats a command until it is carried
	// out. After an error it is called again soon.
	HandleCommand func(checkpoint.Command) error
	// OnError is called once for each new error, and with nil when reports arrive again.
	OnError func(error)
	// News is signalled when something must be reported at once: a commit, another phase.
	News  <-chan struct{}
	After func(time.Duration) <-chan time.Time

	// jitter returns a number from 0 to 1.
	jitter    func() float64
	interval  time.Duration
	failures  int
	lastError string
	pending   *checkpoint.Command
}

// Run reports until the context ends. News is reported at once, unless the last post failed: then the
// backoff holds. Nothing is lost by that, because every report has the newest commit.
func (r *Reporter) Run(ctx context.Context) {
	wait := time.Duration(0)
	for {
		timer, news := r.After(wait), r.News
		if r.failures > 0 {
			news = nil
		}
		select {
		case <-ctx.Done():
			return
		case <-timer:
		case <-news:
			select {
			case <-ctx.Done():
				return
			case <-r.After(minInterval):
			}
		}
		wait = r.PostOnce(ctx)
	}
}

// PostLast reports once more, within LastTimeout. It ignores the answer's command.
func (r *Reporter) PostLast(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, LastTimeout)
	defer cancel()
	_, err := r.Post(ctx, r.Report())
	return err
}

// PostOnce reports and returns how long to wait before the next report.
func (r *Reporter) PostOnce(ctx context.Context) time.Duration {
	wait := r.post(ctx)
	if r.pending != nil && r.HandleCommand(*r.pending) != nil {
		return min(wait, FirstBackoff) // it may succeed long before the next heartbeat
	}
	r.pending = nil
	return wait
}

func (r *Reporter) post(ctx context.Context) time.Duration {
	if r.jitter == nil {
		r.jitter = rand.Float64
	}
	if r.interval == 0 {
		r.interval = defaultInterval
	}
	posting, cancel := context.WithTimeout(ctx, PostTimeout)
	defer cancel()
	answer, err := r.Post(posting, r.Report())
	if err != nil {
		if ctx.Err() == nil { // otherwise the caller has ended it
			r.noteError(err)
		}
		return r.backoff(err)
	}
	r.noteError(nil)
	r.failures = 0
	if answer.MinIntervalSeconds > 0 {
		r.interval = time.Duration(answer.MinIntervalSeconds) * time.Second
	}
	if answer.Command != checkpoint.CommandNone {
		r.pending = &checkpoint.Command{Command: answer.Command, ID: answer.ID, Deadline: answer.Deadline}
	}
	return r.interval + time.Duration(float64(r.interval)/10*r.jitter()) // never sooner than asked
}

func (r *Reporter) noteError(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != r.lastError {
		r.lastError = text
		r.OnError(err)
	}
}

// backoff is jittered, so that the agents of all jobs do not return at the same moment.
func (r *Reporter) backoff(err error) time.Duration {
	wait := min(FirstBackoff<<min(r.failures, 10), maxBackoff)
	r.failures++
	wait = wait/2 + time.Duration(float64(wait/2)*r.jitter())
	return max(wait, RetryAfter(err))
}
