package logview

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// TestTogether: the logs of ranks are one log by time, from the last lines on, and continue.
func TestTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gangLogs{pods: map[spec.RankRef]*writer{
			worker(0): {text: logged(0, "old") + logged(1, "a") + logged(4, "d")},
			worker(1): {text: logged(2, "b") + logged(3, "c") + "and more\n"},
		}}
		s, leave := follow(t, &Together{Ranks: gangOf(3), From: g}, Options{TailLines: 3}, "", nil)
		time.Sleep(time.Second)
		want := []string{
			"Worker 0: old", "Worker 0: a", "Worker 1: b", "Worker 1: c", "Worker 1: and more", "Worker 0: d",
		}
		if diff := cmp.Diff(want, s.lines(t)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got, want := s.last(eventRanks).Data,
			`{"following":2,"of":3,"waiting":[{"rank":"Worker 2","why":"it has no pod: wait"}]}`; got != want {
			t.Errorf("the states are %s", got)
		}
		g.mu.Lock()
		g.pods[worker(1)].text += logged(5, "e")
		g.mu.Unlock()
		time.Sleep(time.Second)
		if all := s.lines(t); all[len(all)-1] != "Worker 1: e" {
			t.Errorf("the last line is %s", all[len(all)-1])
		}
		leave()
		if n := g.open.Load(); n != 0 {
			t.Errorf("%d logs are still open", n)
		}
	})
}

// TestTogetherLosesNoLine: after a broken connection the browser gets each line once, and lines of a rank in
// order.
func TestTogetherLosesNoLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ranks, each = 5, 700
		g := &gangLogs{pods: map[spec.RankRef]*writer{}}
		want := map[string][]string{}
		for rank := range int32(ranks) {
			w := &writer{uid: fmt.Sprint("pod", rank), ended: true}
			for i := range each {
				text := fmt.Sprintf("line %d", i)
				w.text += logged(i/3+int(rank), text) // three lines each have the same time
				want[name(worker(rank))] = append(want[name(worker(rank))], text)
			}
			g.pods[worker(rank)] = w
		}
		all := &Together{Ranks: gangOf(ranks), From: g, Over: func(context.Context) bool { return true }}
		got := map[string][]string{}
		position, ended := "", false
		for connections := 0; !ended; connections++ {
			if connections > 200 {
				t.Fatal("it does not come to an end")
			}
			lost := make(chan event, 1)
			_, leave := follow(t, all, Options{TailLines: -1}, position, func(e event) {
				if e.Name == eventLines || e.Name == eventEnd {
					select {
					case lost <- e:
					default: // the connection is lost already
					}
				}
			})
			e := <-lost
			leave()
			if e.Name == eventEnd {
				ended = true
				continue
			}
			position = e.ID
			for _, l := range ranked(t, e) {
				rank, text, _ := strings.Cut(l, ": ")
				got[rank] = append(got[rank], text)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-written +read):\n%.2000s", diff)
		}
	})
}

// TestRanksJoin: ranks join when they have a log: a pod that starts, and a container that restarts.
func TestRanksJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gangLogs{pods: map[spec.RankRef]*writer{}}
		var mu sync.Mutex
		seen := map[spec.RankRef]string{}
		all := &Together{Ranks: gangOf(2), From: g, Seen: func() map[spec.RankRef]string {
			mu.Lock()
			defer mu.Unlock()
			return map[spec.RankRef]string{worker(0): seen[worker(0)]}
		}}
		see := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			seen[worker(0)] = what
		}
		s, leave := follow(t, all, Options{TailLines: 1}, "", nil)
		defer leave()
		time.Sleep(time.Minute) // the retry interval is half a minute by now
		first := &writer{uid: "one", text: logged(10, "a") + logged(11, "b")}
		g.set(0, first)
		see("runs")
		time.Sleep(2 * time.Second)
		if diff := cmp.Diff([]string{"Worker 0: a", "Worker 0: b"}, s.lines(t)); diff != "" {
			t.Fatalf("of a pod that is new (-want +got):\n%s", diff)
		}
		g.mu.Lock()
		first.ended = true
		g.mu.Unlock()
		time.Sleep(time.Minute)
		if states := s.last(eventRanks).Data; !strings.Contains(states, `"following":0`) ||
			!strings.Contains(states, `"its container has ended"`) {
			t.Errorf("the states with an ended container are %s", states)
		}
		n := len(s.events())
		time.Sleep(5 * time.Minute)
		if more := s.events()[n:]; len(more) > 0 {
			t.Errorf("while nothing happens there is %v", more)
		}
		g.set(0, &writer{uid: "one", text: first.text + logged(12, "c")})
		see("restarted")
		time.Sleep(2 * time.Second)
		if diff := cmp.Diff([]string{"Worker 0: a", "Worker 0: b", "Worker 0: c"}, s.lines(t)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestNewPod: on a node whose clock is behind, no line of a rank's new pod is lost, on the same connection
// and on the next.
func TestNewPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gangLogs{pods: map[spec.RankRef]*writer{
			worker(0): {uid: "one", text: logged(10, "a"), ended: true},
		}}
		all := &Together{Ranks: gangOf(1), From: g}
		s, leave := follow(t, all, Options{TailLines: 5}, "", nil)
		time.Sleep(time.Second)
		g.set(0, &writer{uid: "two", text: logged(3, "x"), ended: true})
		time.Sleep(time.Minute)
		if diff := cmp.Diff([]string{"Worker 0: a", "Worker 0: x"}, s.lines(t)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		leave()
		g.set(0, &writer{uid: "three", text: logged(2, "y")})
		s, leave = follow(t, all, Options{TailLines: 5}, s.last(eventLines).ID, nil)
		time.Sleep(time.Second)
		leave()
		if diff := cmp.Diff([]string{"Worker 0: y"}, s.lines(t)); diff != "" {
			t.Errorf("on the next connection (-want +got):\n%s", diff)
		}
	})
}

// TestTogetherBackpressure: lines that the browser does not receive are not read.
func TestTogetherBackpressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ranks = 8
		read := &endless{}
		s := &screen{ResponseWriter: httptest.NewRecorder(), stuck: make(chan struct{})}
		leave := followOn(t, s, &Together{Ranks: gangOf(ranks), From: read}, Options{}, "")
		time.Sleep(time.Hour)
		before := read.bytes.Load()
		time.Sleep(time.Hour)
		if n := read.bytes.Load(); n != before || n > ranks*(batchBytes+2*maxLine+64<<10) {
			t.Errorf("%d bytes are read, and %d later", before, n)
		}
		close(s.stuck)
		time.Sleep(time.Second)
		if read.bytes.Load() == before {
			t.Error("it does not continue")
		}
		leave()
	})
}

// endless logs.
type endless struct{ bytes atomic.Int64 }

func (e *endless) Open(context.Context, spec.RankRef, Options) (Log, error) {
	return Log{ReadCloser: e}, nil
}

func (e *endless) Read(p []byte) (int, error) {
	time.Sleep(time.Millisecond) // synctest time
	n := copy(p, strings.Repeat(logged(1, strings.Repeat("x", 1000)), 8))
	e.bytes.Add(int64(n))
	return n, nil
}

func (*endless) Close() error { return nil }

// TestTogetherEnds: it ends with the job, and if its user may read none of the logs.
func TestTogetherEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gangLogs{pods: map[spec.RankRef]*writer{worker(0): {text: logged(1, "a"), ended: true}}}
		over := atomic.Bool{}
		all := &Together{Ranks: gangOf(2), From: g, Over: func(context.Context) bool { return over.Load() }}
		s, leave := follow(t, all, Options{TailLines: 5}, "", nil)
		time.Sleep(time.Minute)
		if s.last(eventEnd).Name != "" {
			t.Error("it ends before the job")
		}
		over.Store(true)
		time.Sleep(time.Minute)
		if e := s.last(eventEnd); e.ID == "" || e.Data != "{}" {
			t.Errorf("it ends with %+v", e)
		}
		leave()
		g.err = problem.New(problem.Forbidden, "ann cannot get pods/log", "ask for the right")
		s, leave = follow(t, all, Options{}, "", nil)
		time.Sleep(time.Second)
		if e := s.last(eventProblem); !strings.Contains(e.Data, "ann cannot get pods/log") {
			t.Errorf("a user without rights gets %+v", e)
		}
		leave()
	})
}

// TestLogsAreOpenedInTurn: a few in parallel, and failing ones with growing delays.
func TestLogsAreOpenedInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gangLogs{pods: map[spec.RankRef]*writer{}}
		_, leave := follow(t, &Together{Ranks: gangOf(maxRanks), From: g}, Options{}, "", nil)
		time.Sleep(10 * time.Minute)
		leave()
		n := 0
		for _, rank := range g.opened {
			if rank == worker(7) {
				n++
			}
		}
		if n < 15 || n > 30 {
			t.Errorf("a rank without a pod is tried %d times in 10 minutes", n)
		}
	})
}

// TestPositionsAreParsed: Positions are parsed from their text, those of other ranks are ignored, and invalid
// ones are errors.
func TestPositionsAreParsed(t *testing.T) {
	ranks := gangOf(maxRanks)
	sent := Positions{}
	for i, rank := range ranks {
		sent[rank] = Position{epoch.Add(time.Duration(i) * time.Second), 12, tagOf(fmt.Sprint(i))}
	}
	text := sent.String()
	got, err := ParsePositions(text, ranks)
	if diff := cmp.Diff(sent, got); diff != "" || err != nil {
		t.Errorf("%v (-sent +parsed):\n%s", err, diff)
	}
	if len(text) > 4<<10 {
		t.Errorf("they have %d bytes", len(text))
	}
	if got, err = ParsePositions(text, ranks[:1]); len(got) != 1 || err != nil {
		t.Errorf("of one rank: %v, %v", got, err)
	}
	for _, bad := range []string{"x", "worker0", "worker0.", "worker0.5", text + "_", "worker0.5-0"} {
		if _, err := ParsePositions(bad, ranks); problem.Of(err).Status != http.StatusUnprocessableEntity {
			t.Errorf("%.40q are positions: %v", bad, err)
		}
	}
	if !slices.IsSorted(strings.Split(text, betweenRanks)) {
		t.Error("the text of equal positions differs")
	}
}
