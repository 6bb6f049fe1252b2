package rest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// stream opens an answer that has no end.
func (s *server) stream(path, user string, headers ...string) io.ReadCloser {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/api/v1/clusters/main/"+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("User", user)
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		s.t.Fatalf("%s: %d %s", path, resp.StatusCode, body)
	}
	s.t.Cleanup(func() { cancel(); resp.Body.Close() })
	return resp.Body
}

// messages of a stream of events, in short: the name and the job's name, and a comment as it is.
type messages struct {
	t    *testing.T
	from *bufio.Reader
	id   string
}

func (s *server) messages(path, user string, headers ...string) *messages {
	return &messages{s.t, bufio.NewReader(s.stream(path, user, headers...)), ""}
}

// next message; "end" where there is none.
func (m *messages) next() string {
	m.t.Helper()
	var name, data string
	for {
		line, err := m.from.ReadString('\n')
		if err == io.EOF {
			return "end"
		}
		if err != nil {
			m.t.Fatal(err)
		}
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch key {
		case "":
			if value != "" {
				name = ": " + value
				continue
			}
			if strings.Contains(data, `"name":"`) {
				_, rest, _ := strings.Cut(data, `"name":"`)
				data, _, _ = strings.Cut(rest, `"`)
			}
			return strings.TrimSpace(name + " " + data)
		case "event":
			name = value
		case "id":
			m.id = value
		case "data":
			data = value
		default:
			m.t.Fatalf("line %q", line)
		}
	}
}

func (m *messages) expect(want ...string) {
	m.t.Helper()
	var got []string
	for range want {
		got = append(got, m.next())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		m.t.Fatalf("(-want +got):\n%s", diff)
	}
}

// TestEvents: a stream begins with what there is and goes on with what happens, as far as its reader may see
// it; who connects again has missed nothing.
func TestEvents(t *testing.T) {
	s := newServer(t, newJob("team-a", "a1"), newJob("team-b", "b1"))
	ann, bob, one := s.messages("events", "ann"), s.messages("events", "bob"),
		s.messages("events?namespace=team-b&name=b1", "ann")
	ann.expect("reset {}", "added a1", "added b1", "synced {}")
	bob.expect("reset {}", "added a1", "synced {}")
	one.expect("reset {}", "added b1", "synced {}")

	changed := func(job *v1alpha1.TrainingJob) { job.ResourceVersion = "1000" }
	s.source.handler.OnAdd(newJob("team-b", "b2"), false)
	s.source.handler.OnUpdate(nil, newJob("team-a", "a1", changed))
	s.source.handler.OnDelete(newJob("team-b", "b1"))
	ann.expect("added b2", "modified a1", "deleted b1")
	bob.expect("modified a1")
	one.expect("deleted b1")

	last := bob.id
	s.source.handler.OnAdd(newJob("team-c", "c1"), false)
	s.source.handler.OnAdd(newJob("team-a", "a2"), false)
	bob.expect("added a2")
	s.messages("events", "bob", "Last-Event-ID: "+last).expect("added a2", "synced {}")
	s.messages("events?after="+last, "ann").expect("deleted b1", "added c1", "added a2", "synced {}")
	s.messages("events", "bob", "Last-Event-ID: of-another-process").
		expect("reset {}", "added a1", "added a2", "synced {}")

	var got list
	s.do(request{path: "trainingjobs"}).decode(t, http.StatusOK, &got)
	s.source.handler.OnDelete(newJob("team-c", "c1"))
	s.messages("events?after="+got.Metadata.Position, "ann").expect("deleted c1", "synced {}")
}

// waits steps the clock when so many timers wait for it.
func (s *server) step(d time.Duration, waiters int) {
	s.t.Helper()
	err := wait.PollUntilContextTimeout(s.t.Context(), time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return s.clock.Waiters() >= waiters, nil })
	if err != nil {
		s.t.Fatal(err)
	}
	s.clock.Step(d)
}

// TestEventsIdle: a stream says that it lives, and ends after its longest time.
func TestEventsIdle(t *testing.T) {
	s := newServer(t)
	m := s.messages("events", "ann")
	m.expect("reset {}", "synced {}")
	s.step(16*time.Second, 3)
	m.expect(": nothing has happened")
	s.step(time.Hour, 3)
	for range 10 { // of the comments and the end, whichever comes first
		if got := m.next(); got == ": the longest time of a stream is over: connect again" {
			m.expect("end")
			return
		}
	}
	t.Error("it goes on")
}

// TestEventsRights: readers whose rights change start again.
func TestEventsRights(t *testing.T) {
	s := newServer(t, newJob("team-a", "a1"), newJob("team-b", "b1"))
	m := s.messages("events", "bob")
	m.expect("reset {}", "added a1", "synced {}")
	s.step(31*time.Second, 3) // nothing is different
	for m.next() != ": nothing has happened" {
	}
	s.access.grant("bob", "team-b")
	s.step(31*time.Second, 3)
	for {
		got := m.next()
		if got == "reset {}" {
			break
		}
		if got != ": nothing has happened" {
			t.Fatal(got)
		}
	}
	m.expect("end")
	s.messages("events", "bob", "Last-Event-ID: "+m.id).expect("reset {}", "added b1", "synced {}")
}

// TestEventsOfNewNamespace: a namespace that had no jobs is asked about when it has.
func TestEventsOfNewNamespace(t *testing.T) {
	s := newServer(t)
	m := s.messages("events", "bob")
	m.expect("reset {}", "synced {}")
	s.source.handler.OnAdd(newJob("team-b", "b1"), false)
	s.source.handler.OnAdd(newJob("team-a", "a1"), false)
	m.expect("added a1")
}

// TestTooManyStreams: what has no end begins only where it may, and all else does not ask.
func TestTooManyStreams(t *testing.T) {
	s := newServer(t, newJob("team-a", "bert"))
	s.withPods(t, &pods{log: "step 1\n", end: make(chan struct{}), all: map[string]*corev1.Pod{
		"bert-worker-0": rank("bert-worker-0", "uid-bert", "trainer"),
	}})
	s.noStream = problem.New(problem.TooManyRequests, "too many streams are open", "close one")
	const events = "/api/v1/clusters/main/events"
	for path, want := range map[string]int{
		events: http.StatusTooManyRequests, teamA + "/bert/logs?follow=true": http.StatusTooManyRequests,
		teamA + "/bert/logs": http.StatusOK, teamA + "/bert": http.StatusOK,
	} {
		if got := s.do(request{path: path, user: "ann"}); got.StatusCode != want {
			t.Errorf("%s: %d %s", path, got.StatusCode, got.body)
		}
	}
}

// TestSlowReader: one that takes nothing is let go, and nothing waits for it.
func TestSlowReader(t *testing.T) {
	s := newServer(t)
	body := s.stream("events", "ann")
	large := strings.Repeat("x", 5_000)
	for n := range 20_000 { // more than the connection holds and the cluster keeps
		name := fmt.Sprint("a", n%100) // of one job with large versions not all are kept
		s.source.handler.OnUpdate(nil, newJob("team-a", name, func(job *v1alpha1.TrainingJob) {
			job.ResourceVersion, job.Status.Message = strconv.Itoa(n), large
		}))
	}
	rest, err := io.ReadAll(body)
	if err == nil && !strings.Contains(string(rest[max(0, len(rest)-200):]), "does not keep up") {
		t.Errorf("it has ended with %q", rest[max(0, len(rest)-200):])
	}
}
