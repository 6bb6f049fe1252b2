package logview

import (
	"context"
	"net/http"
	"sync"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/server/events"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// eventRanks lists the followed ranks, and why others are not followed.
const eventRanks = "ranks"

const (
	// seenEvery is the interval of Seen.
	seenEvery = time.Second
	// overEvery is the interval of Over, while no rank writes.
	overEvery = 15 * time.Second
)

// Together are ranks that are followed as one log.
type Together struct {
	Ranks []spec.RankRef
	From  Opener
	// Seen returns a state of each rank; a change means that its log can have more lines: it was bound, or
	// has restarted. It sends no request. Nil, or a missing rank: unknown.
	Seen func() map[spec.RankRef]string
	// Over reports whether no rank will write again. It can send a request to the cluster.
	Over func(context.Context) bool
}

// together is one reader of them.
type together struct {
	*Together
	streams   *Streams
	to        *events.Writer
	merger    *merger
	positions Positions
	states    []*rankState // nil: unknown
	changed   bool         // the states, since they were sent
}

// ServeTogether streams the logs of ranks, merged by time, as Serve does for one. A rank without a log, with
// a restarting container or with a new pod joins when it has one.
func (s *Streams) ServeTogether(w http.ResponseWriter, r *http.Request, all *Together, o Options) error {
	positions, err := ParsePositions(positionIn(r), all.Ranks)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	news, over := make(chan rankNews), make(chan struct{})
	opens, followers := make(chan struct{}, atOnce), make([]*rankFollower, len(all.Ranks))
	for i, rank := range all.Ranks {
		f := &rankFollower{
			index: i, rank: rank, from: all.From, opens: opens, to: news, clock: s.Clock,
			again: make(chan struct{}, 1), options: o,
		}
		f.options.Follow, f.options.After = true, positions[rank]
		if !f.options.After.Time.IsZero() {
			f.options.TailLines = -1
		}
		followers[i] = f
	}
	var idle idleness
	for _, f := range followers {
		running.Go(func() { f.run(ctx) })
	}
	running.Go(func() { s.watch(ctx, all, followers, &idle, over) })
	t := &together{
		Together: all, streams: s, to: events.Begin(w, events.MediaType, s.WriteTimeout),
		merger: newMerger(len(all.Ranks)), positions: positions,
		states: make([]*rankState, len(all.Ranks)),
	}
	t.run(ctx, news, &idle, over)
	return nil
}

// idleness is whether no rank writes.
type idleness struct {
	mu sync.Mutex
	is bool
}

func (i *idleness) set(is bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.is = is
}

func (i *idleness) get() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.is
}

// watch signals ranks that can have more lines, and the end of the job.
func (s *Streams) watch(
	ctx context.Context, all *Together, followers []*rankFollower, idle *idleness, over chan<- struct{},
) {
	look, ask := s.Clock.NewTicker(seenEvery), s.Clock.NewTicker(overEvery)
	defer look.Stop()
	defer ask.Stop()
	seen := all.seen()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C():
			now := all.seen()
			for _, f := range followers {
				if now[f.rank] != seen[f.rank] {
					select {
					case f.again <- struct{}{}:
					default:
					}
				}
			}
			seen = now
		case <-ask.C():
			if idle.get() && all.Over != nil && all.Over(ctx) {
				close(over)
				return
			}
		}
	}
}

func (t *Together) seen() map[spec.RankRef]string {
	if t.Seen == nil {
		return nil
	}
	return t.Seen()
}

// run until all logs have ended or the browser is gone.
func (t *together) run(ctx context.Context, news <-chan rankNews, idle *idleness, over <-chan struct{}) {
	clock := t.streams.Clock
	beat := clock.NewTicker(t.streams.Heartbeat)
	defer beat.Stop()
	if t.to.Comment("") != nil {
		return
	}
	for {
		lines, wait := t.merger.take(clock.Now())
		switch {
		case len(lines) > 0:
			if t.sendLines(lines) != nil {
				return
			}
			continue
		case t.changed && t.settled():
			idle.set(t.following() == 0)
			if t.sendStates() != nil || t.refused() {
				return
			}
		}
		if !t.await(ctx, news, beat.C(), over, wait) {
			return
		}
	}
}

// await the next event, at most for wait; 0 is without limit. It reports whether to continue.
func (t *together) await(
	ctx context.Context, news <-chan rankNews, beat <-chan time.Time, over <-chan struct{}, wait time.Duration,
) bool {
	var ripe <-chan time.Time
	if wait > 0 {
		timer := t.streams.Clock.NewTimer(wait)
		defer timer.Stop()
		ripe = timer.C()
	}
	select {
	case <-ctx.Done():
		return false
	case n := <-news:
		t.take(n)
	case <-ripe:
	case <-beat:
		return t.to.Comment("") == nil
	case <-over:
		_ = t.to.EventJSON(eventEnd, t.positions.String(), struct{}{})
		return false
	}
	return true
}

func (t *together) take(n rankNews) {
	if n.state == nil {
		t.merger.put(n.rank, n.lines, n.pod, t.streams.Clock.Now())
		return
	}
	if was := t.states[n.rank]; was == nil || was.following != n.state.following || was.why != n.state.why {
		t.changed = true
	}
	t.states[n.rank] = n.state
	t.merger.sources[n.rank] = silent
	if n.state.following {
		t.merger.sources[n.rank] = writing
	}
}

// sentLine is a line with its rank.
type sentLine struct {
	Rank string `json:"rank"`
	Line
}

func (t *together) sendLines(lines []mergedLine) error {
	sent := make([]sentLine, 0, len(lines))
	for _, l := range lines {
		rank := t.Ranks[l.rank]
		at := t.positions[rank]
		if at.Pod != l.pod {
			at = Position{Pod: l.pod}
		}
		t.positions[rank] = at.behind(l.Line)
		sent = append(sent, sentLine{name(rank), l.Line})
	}
	return t.to.EventJSON(eventLines, t.positions.String(), map[string]any{"lines": sent})
}

// settled reports whether every log was opened or has failed.
func (t *together) settled() bool {
	for _, s := range t.states {
		if s == nil {
			return false
		}
	}
	return true
}

func (t *together) following() (n int) {
	for _, s := range t.states {
		if s.following {
			n++
		}
	}
	return n
}

// waitingRank is a rank without a log.
type waitingRank struct {
	Rank string `json:"rank"`
	Why  string `json:"why"`
}

func (t *together) sendStates() error {
	t.changed = false
	waiting := []waitingRank{}
	for i, s := range t.states {
		if !s.following {
			waiting = append(waiting, waitingRank{name(t.Ranks[i]), s.why})
		}
	}
	return t.to.EventJSON(eventRanks, "", map[string]any{
		"following": t.following(), "of": len(t.states), "waiting": waiting,
	})
}

// refused reports whether the user may read none of the logs, and sends that problem.
func (t *together) refused() bool {
	for _, s := range t.states {
		if s.problem == nil ||
			s.problem.Status != http.StatusForbidden && s.problem.Status != http.StatusUnauthorized {
			return false
		}
	}
	_ = t.to.EventJSON(eventProblem, "", t.states[0].problem)
	return true
}
