package board

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"time"

	"mlplatform.example.com/trainingjob-operator/lab/browser"
)

//go:embed probe.js
var probe string

// Page of the board to measure.
type Page struct {
	Name string
	// path below the cluster's; empty for the map. large is the page of the large job.
	path  string
	large bool
	// Every is the time between two updates.
	Every time.Duration
}

// How a page follows changes.
type How string

// Ways to follow.
const (
	// Still: nothing happens.
	Still How = "nothing changes"
	// Live: by the board's stream.
	Live How = "board"
	// Reload: the page reloads itself once per update, as a page without updates would.
	Reload How = "reload"
)

// Visit is one page under one load.
type Visit struct {
	Page Page
	Load Load // unused for Still
	How  How
	// Updates that the page shows.
	Updates int
}

// Result of a visit: sums over all updates.
type Result struct {
	Visit
	// Elapsed wall-clock time.
	Elapsed time.Duration
	// Bytes that were sent.
	Bytes int64
	// Touched is the number of added and removed elements, and of changed texts and attributes.
	Touched int64
	// Cost of the processor, and how long frames over 50 ms blocked the main thread.
	Cost    browser.Cost
	Blocked time.Duration
	// Frames that were shown, those that took more than 50 ms, and the longest.
	Frames, LongFrames int
	Longest            time.Duration
	// Memory of the page after the visit, and of a newly opened one. Shown is the number of elements of the
	// document, Size the bytes of its HTML.
	After, Fresh browser.Memory
	Shown, Size  int64
}

// counts of probe.js.
type counts struct {
	Touched, Frames, LongFrames int
	Longest, Blocked            float64 // ms
}

var screen = browser.Screen{Width: 1280, Height: 800}

// run the visit on a new site.
func (v Visit) run(ctx context.Context, b *browser.Browser, size Size) (r Result, err error) {
	s, err := newSite(size)
	if err != nil {
		return r, err
	}
	defer s.end()
	r.Visit = v
	p, err := v.open(b, s)
	if err != nil {
		return r, err
	}
	defer p.Close()
	before, err := p.Cost()
	if err != nil {
		return r, err
	}
	began, sent := time.Now(), s.sent.Load()
	if err := do(p, `probe.begin()`); err != nil {
		return r, err
	}
	if err := v.follow(ctx, p, s); err != nil {
		return r, err
	}
	counted, err := browser.Value[counts](p, `probe.end()`)
	if err != nil {
		return r, err
	}
	after, err := p.Cost()
	if err != nil {
		return r, err
	}
	milliseconds := func(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
	r.Elapsed, r.Bytes, r.Touched = time.Since(began), s.sent.Load()-sent, int64(counted.Touched)
	r.Cost, r.Blocked = after.Less(before), milliseconds(counted.Blocked)
	r.Frames, r.LongFrames, r.Longest = counted.Frames, counted.LongFrames, milliseconds(counted.Longest)
	return r, errors.Join(v.check(p), r.remember(b, s, p))
}

// open the page, and wait until it follows.
func (v Visit) open(b *browser.Browser, s *site) (*browser.Page, error) {
	p, err := b.Visit(screen)
	if err != nil {
		return nil, err
	}
	script := probe
	if v.How == Reload {
		script += "\ndelete window.EventSource;"
	}
	if err := errors.Join(p.Prepare(script), p.Open(v.url(s))); err != nil {
		p.Close()
		return nil, err
	}
	if v.How == Reload {
		return p, nil
	}
	if err := p.Until(`source && source.readyState === EventSource.OPEN`); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (v Visit) url(s *site) string {
	at := s.URL + "/board/clusters/" + clusterName
	if v.Page.large {
		namespace, name := s.api.largeJob()
		return at + "/namespaces/" + url.PathEscape(namespace) + "/jobs/" + url.PathEscape(name)
	}
	return at + v.Page.path
}

// follow what happens, one update after the other.
func (v Visit) follow(ctx context.Context, p *browser.Page, s *site) error {
	pace := time.NewTicker(v.Page.Every)
	defer pace.Stop()
	for n := range v.Updates {
		seen, err := browser.Value[int](p, `probe.updates`) // before the next update
		if err != nil {
			return err
		}
		if v.How != Still {
			s.api.change(v.Load)
		}
		switch v.How {
		case Live:
			if err := do(p, fmt.Sprintf(`probe.after(%d)`, seen+1)); err != nil {
				return fmt.Errorf("waiting for update %d of %s: %w", n+1, v.Page.Name, err)
			}
			continue
		case Reload:
			if err := do(p, `probe.reload()`); err != nil {
				return err
			}
		}
		select {
		case <-pace.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// do evaluates an expression without a value.
func do(p *browser.Page, expression string) error {
	_, err := browser.Value[bool](p, `Promise.resolve(`+expression+`).then(() => true)`)
	return err
}

// check that no update was lost: the page must equal a newly loaded one.
func (v Visit) check(p *browser.Page) error {
	if v.How == Reload {
		return nil // as old as its last load
	}
	stale, err := "unknown", error(nil)
	for range 20 { // texts that depend on the clock can be changing
		if stale, err = browser.Value[string](p, `probe.stale()`); err != nil || stale == "" {
			break
		}
		if err := do(p, `probe.pause()`); err != nil {
			return err
		}
	}
	if err != nil || stale != "" {
		return errors.Join(fmt.Errorf("an update was lost: %s", stale), err)
	}
	if faults := p.Faults(); len(faults) > 0 {
		return fmt.Errorf("the browser complains: %v", faults)
	}
	return nil
}

// remember the memory of the page, and of the same page opened again.
func (r *Result) remember(b *browser.Browser, s *site, p *browser.Page) (err error) {
	if r.After, err = p.Memory(); err != nil {
		return err
	}
	if r.Shown, err = browser.Value[int64](p, `document.getElementsByTagName('*').length`); err != nil {
		return err
	}
	sent := s.sent.Load()
	if err := do(p, `fetch(location.href).then(page => page.text())`); err != nil {
		return err
	}
	r.Size = s.sent.Load() - sent
	fresh, err := r.open(b, s)
	if err != nil {
		return err
	}
	defer fresh.Close()
	r.Fresh, err = fresh.Memory()
	return err
}
