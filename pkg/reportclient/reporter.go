package reportclient

import (
	"context"
	"math/rand/v2"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

const (
	// interval between reports until the operator asks for another.
	interval = 10 * time.Second
	// PostTimeout bounds one report.
	PostTimeout = 10 * time.Second
	// LastTimeout bounds the last one: the pod is about to end.
	LastTimeout = 3 * time.Second
	// FirstBackoff after a report that was not taken; it doubles up to lastBackoff.
	FirstBackoff = time.Second
	lastBackoff  = time.Minute
	// hurry is the least time between two reports, also for news.
	hurry = time.Second
)

// Reporter posts what View holds and hands the answers' commands over. The heartbeat is the command channel.
type Reporter struct {
	Post func(context.Context, checkpoint.Report) (*checkpoint.Answer, error)
	View func() checkpoint.Report
	// Take a command. The same one comes with every answer until it is carried out. An error means that it is to be given again soon.
	Take func(checkpoint.Command) error
	// Trouble is told once of each new trouble, and nil when reports arrive again.
	Trouble func(error)
	// News are signalled when something is to be told at once: a commit, another phase.
	News  <-chan struct{}
	After func(time.Duration) <-chan time.Time

	// jitter returns a number from 0 to 1.
	jitter   func() float64
	min      time.Duration
	failures int
	trouble  string
	pending  *checkpoint.Command
}

// Follow reports until the context ends. News are told at once, except while the server is in trouble: then the backoff
// holds, and nothing is lost, for every report carries the newest commit.
func (r *Reporter) Follow(ctx context.Context) {
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
			case <-r.After(hurry):
			}
		}
		wait = r.Once(ctx)
	}
}

// Last reports once more, in a short time.
func (r *Reporter) Last(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, LastTimeout)
	defer cancel()
	_, err := r.Post(ctx, r.View())
	return err
}

// Once reports and says how long to wait.
func (r *Reporter) Once(ctx context.Context) time.Duration {
	wait := r.report(ctx)
	if r.pending != nil && r.Take(*r.pending) != nil {
		return min(wait, FirstBackoff) // long before the next heartbeat it may be possible
	}
	r.pending = nil
	return wait
}

func (r *Reporter) report(ctx context.Context) time.Duration {
	if r.jitter == nil {
		r.jitter = rand.Float64
	}
	if r.min == 0 {
		r.min = interval
	}
	posting, cancel := context.WithTimeout(ctx, PostTimeout)
	defer cancel()
	answer, err := r.Post(posting, r.View())
	if err != nil {
		if ctx.Err() == nil { // else it was we who ended it
			r.tell(err)
		}
		return r.backoff(err)
	}
	r.tell(nil)
	r.failures = 0
	if answer.MinIntervalSeconds > 0 {
		r.min = time.Duration(answer.MinIntervalSeconds) * time.Second
	}
	if answer.Command != checkpoint.CommandNone {
		r.pending = &checkpoint.Command{Command: answer.Command, ID: answer.ID, Deadline: answer.Deadline}
	}
	return r.min + time.Duration(float64(r.min)/10*r.jitter()) // never sooner than asked
}

func (r *Reporter) tell(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != r.trouble {
		r.trouble = text
		r.Trouble(err)
	}
}

func (r *Reporter) backoff(err error) time.Duration {
	wait := min(FirstBackoff<<min(r.failures, 10), lastBackoff)
	r.failures++
	wait = wait/2 + time.Duration(float64(wait/2)*r.jitter()) // so that the agents of all jobs do not come back together
	return max(wait, RetryAfter(err))
}
