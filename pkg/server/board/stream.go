package board

import (
	"encoding/json"
	"net/http"
	"slices"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/events"
	"mlplatform.example.com/trainingjob-operator/pkg/server/live"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// Names of events. An event's id is the digest of the page after the event: a browser that reconnects sends
// the last one.
const (
	// eventHello is the first event: the version of the board's files, and the user.
	eventHello = "hello"
	// eventPatch has the changes.
	eventPatch = "patch"
	// eventProblem is why the page cannot be rendered; null when it can be again.
	eventProblem = "problem"
)

// viewer is one browser that shows a page.
type viewer struct {
	board   *Board
	page    page
	request *http.Request
	to      *events.Writer
	// events of live, which only wake up; nil while nothing is followed.
	events <-chan live.Event
	close  func()
	// placed wakes up when a rank is bound, changes or ends; nil if the page shows none.
	placed <-chan struct{}
	// sent is what the browser shows.
	sent fragment.State
	// failing is the problem that the browser shows.
	failing string
}

// stream sends the updates of a page. It wakes up when a job changes, and every few seconds for changes
// without events, renders the page as its caller, and sends the difference.
func (b *Board) stream(w http.ResponseWriter, r *http.Request, p page) {
	if err := b.BeginStream(r.Context()); err != nil {
		b.fail(w, r, err)
		return
	}
	v := &viewer{board: b, page: p}
	state := r.Header.Get("Last-Event-ID")
	if state == "" {
		state = r.URL.Query().Get(parameterState)
	}
	v.request = withoutLive(r)
	if err := v.follow(); err != nil { // before the page is rendered: no change is missed
		b.fail(w, r, err)
		return
	}
	defer func() { v.close() }()
	if p.ranks {
		changes, closeIt, err := b.Placement.Follow(r.PathValue("cluster"), r.PathValue("namespace"),
			r.PathValue("name"))
		if err != nil {
			b.fail(w, r, placementError(r.PathValue("cluster"), err))
			return
		}
		v.placed = changes
		defer closeIt()
	}
	now, err := v.render()
	if err != nil {
		b.fail(w, r, err)
		return
	}
	counted, end := b.metrics.streaming(p.name, w)
	defer end()
	v.to = events.Begin(counted, events.MediaType, 0) // package shield bounds each write
	if err := v.begin(now, state); err == nil {
		v.run()
	}
}

// withoutLive returns the request for the page itself.
func withoutLive(r *http.Request) *http.Request {
	query := r.URL.Query()
	query.Del(parameterLive)
	query.Del(parameterState)
	at := *r.URL
	at.RawQuery = query.Encode()
	page := r.Clone(r.Context())
	page.URL = &at
	return page
}

// follow the jobs of the page.
func (v *viewer) follow() error {
	if v.page.watch == nil {
		v.close = func() {}
		return nil
	}
	events, closeIt, err := v.board.Live.Follow(v.request.PathValue("cluster"), v.page.watch(v.request))
	if err != nil {
		v.events, v.close = nil, func() {}
		return err
	}
	v.events, v.close = events, closeIt
	return nil
}

// render the page, or its view of a deleted job.
func (v *viewer) render() (view, error) {
	now, err := v.page.render(v.request)
	if err != nil && v.page.gone != nil {
		if update, is := v.page.gone(v.request, err); is {
			return update, nil
		}
	}
	return now, err
}

// diff returns the difference between what the browser shows and should show.
func diff(sent fragment.State, now view) (fragment.Patch, fragment.State) {
	if now.stays {
		return fragment.Part(sent, now.fragments)
	}
	return fragment.Diff(sent, now.fragments)
}

// begin sends the entire page, unless the browser shows it already.
func (v *viewer) begin(now view, state string) error {
	hello, _ := json.Marshal(map[string]string{ // never fails
		"build": v.board.static.hash, "reader": v.board.reader(v.request),
	})
	if err := v.to.Event(eventHello, "", hello); err != nil {
		return err
	}
	patch, next := diff(fragment.State{}, now)
	patch.All, v.sent = !now.stays, next
	if state == next.Digest() {
		return nil
	}
	return v.patch(patch)
}

// run until the browser disconnects, its time is over, or it may no longer see the page.
func (v *viewer) run() {
	b, ctx, interval := v.board, v.request.Context(), max(v.board.Interval, v.page.rest)
	heartbeat, recheck := b.Clock.NewTicker(b.Heartbeat), b.Clock.NewTicker(b.Recheck)
	end, due := b.Clock.NewTimer(b.LongestStream), b.Clock.NewTimer(interval)
	defer heartbeat.Stop()
	defer recheck.Stop()
	defer end.Stop()
	defer due.Stop()
	// A timer always runs after an update: changes before its end become one update.
	resting, changed := true, false
	for {
		select {
		case <-ctx.Done():
			return
		case <-end.C():
			_ = v.to.Comment("the longest time of a stream is over: connect again")
			return
		case _, open := <-v.events:
			if !open { // the reader was too slow: the next update has what it missed
				v.close()
				v.events, v.close = nil, func() {}
			}
			changed = true
		case <-v.placed:
			changed = true
		case <-recheck.C():
			changed = true
		case <-due.C():
			resting = false
		case <-heartbeat.C():
			if v.to.Comment("nothing has happened") != nil {
				return
			}
		}
		if !changed || resting {
			continue
		}
		if !v.update() {
			return
		}
		due.Reset(interval)
		resting, changed = true, false
	}
}

// update the browser. It reports whether to continue.
func (v *viewer) update() bool {
	if v.events == nil {
		if err := v.follow(); err != nil {
			return v.problem(err)
		}
	}
	now, err := v.render()
	if err != nil {
		return v.problem(err)
	}
	if v.failing != "" {
		v.failing = ""
		if v.to.Event(eventProblem, "", []byte("null")) != nil {
			return false
		}
	}
	patch, next := diff(v.sent, now)
	if v.sent = next; patch.Empty() {
		return true
	}
	return v.patch(patch) == nil
}

// final are statuses that a retry does not change.
var final = []int{
	http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone,
	http.StatusUnprocessableEntity,
}

// problem sends why the page cannot be rendered, once, and removes what the caller may no longer see. It
// reports whether to continue, because the problem can be temporary.
func (v *viewer) problem(err error) bool {
	if v.request.Context().Err() != nil {
		return false
	}
	p := problem.Of(err)
	message, _ := json.Marshal(p) // of strings
	if string(message) == v.failing {
		return true
	}
	v.board.log(v.request, p)
	v.failing = string(message)
	over := slices.Contains(final, p.Status)
	if p.Status == http.StatusForbidden || p.Status == http.StatusUnauthorized { // remove everything
		var nothing fragment.Patch
		if nothing, v.sent = fragment.Whole(nil); v.patch(nothing) != nil {
			return false
		}
	}
	return v.to.Event(eventProblem, "", message) == nil && !over
}

func (v *viewer) patch(p fragment.Patch) error {
	message, err := p.Encode()
	if err != nil {
		return err
	}
	if err := v.to.Event(eventPatch, v.sent.Digest(), message); err != nil {
		return err
	}
	v.board.metrics.updates.WithLabelValues(v.page.name).Inc()
	return nil
}
