package logview

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// patience with a machine that is busy.
const patience = 30 * time.Second

// served streams of a rank.
func served(t *testing.T, from Opener, o Options) (*httptest.Server, *clocktesting.FakeClock) {
	t.Helper()
	clock := clocktesting.NewFakeClock(epoch)
	streams := &Streams{Clock: clock, Heartbeat: 15 * time.Second, WriteTimeout: patience}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := streams.Serve(w, r, from, worker(0), o); err != nil {
			http.Error(w, err.Error(), problem.Of(err).Status)
		}
	}))
	t.Cleanup(server.Close)
	return server, clock
}

// event of a stream, or a comment.
type event struct{ Name, ID, Data string }

// events of an answer as they come.
func eventsOf(body io.Reader) func() (event, error) {
	lines := bufio.NewReader(body)
	return func() (event, error) {
		var e event
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return e, err
			}
			line = strings.TrimSuffix(line, "\n")
			if line == "" {
				return e, nil
			}
			name, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch name {
			case "event":
				e.Name = value
			case "id":
				e.ID = value
			case "data":
				e.Data = value
			}
		}
	}
}

func get(t *testing.T, url, last string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}

// texts of the lines of an event.
func texts(t *testing.T, e event) []string {
	t.Helper()
	var data struct{ Lines []Line }
	if err := json.Unmarshal([]byte(e.Data), &data); err != nil {
		t.Fatalf("%+v: %v", e, err)
	}
	var all []string
	for _, l := range data.Lines {
		all = append(all, l.Text)
	}
	return all
}

// TestStreamLosesNoLine: a browser whose connection breaks after any event gets each line once.
func TestStreamLosesNoLine(t *testing.T) {
	var log strings.Builder
	var want []string
	for i := range 1000 {
		text := fmt.Sprintf("line %d <b>", i)
		fmt.Fprintf(&log, "%s %s\n", at(i/3), text) // three lines each have the same time
		want = append(want, text)
	}
	from := &logs{of: map[spec.RankRef]string{worker(0): log.String()}}
	server, _ := served(t, from, Options{TailLines: 50})
	var got []string
	position, ended := "", false
	for connections := 0; !ended; connections++ {
		if connections > 50 {
			t.Fatal("it does not come to an end")
		}
		answer := get(t, server.URL, position)
		next := eventsOf(answer.Body)
		for {
			e, err := next()
			if err != nil {
				t.Fatal(err)
			}
			if e.ID != "" {
				position = e.ID
			}
			if e.Name == "end" {
				ended = true
				break
			}
			if e.Name == "lines" {
				got = append(got, texts(t, e)...)
				break // and the connection is lost
			}
		}
		answer.Body.Close()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-written +read):\n%.2000s", diff)
	}
	if first, second := from.asked[0], from.asked[1]; first.TailLines != 50 || !first.Follow ||
		second.TailLines != -1 || second.After.Time.IsZero() {
		t.Errorf("the logs were asked for %+v, then %+v", first, second)
	}
}

// TestStreamSendsAtOnce what there is, and comments while nothing is written; it ends when its reader is
// gone.
func TestStreamSendsAtOnce(t *testing.T) {
	written, write := io.Pipe()
	closed := make(chan struct{})
	server, clock := served(t, &logs{reader: &pipe{written, closed}}, Options{})
	answer := get(t, server.URL, "")
	if kind := answer.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("it is %s", kind)
	}
	next := eventsOf(answer.Body)
	if e, err := next(); err != nil || e != (event{}) {
		t.Fatalf("it begins with %+v, %v", e, err)
	}
	for i := range 3 {
		fmt.Fprintf(write, "%s %d\n", at(i), i)
		e, err := next()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{fmt.Sprint(i)}, texts(t, e)); diff != "" {
			t.Errorf("(-written +read):\n%s", diff)
		}
	}
	clock.Step(16 * time.Second)
	if e, err := next(); err != nil || e != (event{}) {
		t.Errorf("while nothing is written there is %+v, %v", e, err)
	}
	answer.Body.Close()
	select {
	case <-closed:
	case <-time.After(patience):
		t.Error("its reader is gone, and the log is still open")
	}
}

type pipe struct {
	*io.PipeReader
	closed chan struct{}
}

func (p *pipe) Close() error {
	close(p.closed)
	return p.PipeReader.Close()
}

// TestStreamTellsProblems: before it has begun as an answer, later as an event.
func TestStreamTellsProblems(t *testing.T) {
	server, _ := served(t, &logs{}, Options{})
	if answer := get(t, server.URL, ""); answer.StatusCode != http.StatusNotFound {
		t.Errorf("of a rank without a pod it answers %d", answer.StatusCode)
	}
	if answer := get(t, server.URL, "yesterday"); answer.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("to a position that is none it answers %d", answer.StatusCode)
	}
	broken := io.MultiReader(strings.NewReader(at(1)+" a\n"), &failing{})
	server, _ = served(t, &logs{reader: io.NopCloser(broken)}, Options{})
	next := eventsOf(get(t, server.URL, "").Body)
	var names []string
	for {
		e, err := next()
		if err != nil {
			break
		}
		names = append(names, e.Name)
		if e.Name == "problem" && (strings.Contains(e.Data, "secret") || !strings.Contains(e.Data, `"title"`)) {
			t.Errorf("the browser gets %s", e.Data)
		}
	}
	if diff := cmp.Diff([]string{"", "lines", "problem"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("dial tcp 10.0.0.1: secret") }
