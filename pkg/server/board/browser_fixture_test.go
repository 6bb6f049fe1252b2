package board

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
)

// browser applies the updates of a page like board.js.
type browser struct {
	t      *testing.T
	server *server
	user   string
	path   string
	end    context.CancelFunc

	mu         sync.Mutex
	containers map[string][]string
	elements   map[string]string
	digest     string
	events     []event
	ended      bool
}

// event of a stream.
type event struct{ name, id, data string }

// open a page's stream in a browser that has the digest of its content.
func (s *server) open(user, path, state string) *browser {
	s.t.Helper()
	b := &browser{
		t: s.t, server: s, user: user, path: path, containers: map[string][]string{}, elements: map[string]string{},
	}
	b.connect(state)
	return b
}

func (b *browser) connect(state string) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	b.end = cancel
	separator := "?"
	if strings.Contains(b.path, "?") {
		separator = "&"
	}
	path := b.path + separator + "live=1&state=" + url.QueryEscape(state)
	r := b.server.request(ctx, http.MethodGet, path, b.user, nil)
	r.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || got != "text/event-stream" {
		b.t.Fatalf("status %d, %s", resp.StatusCode, got)
	}
	b.mu.Lock()
	b.ended, b.events = false, nil
	b.mu.Unlock()
	go b.read(resp.Body)
}

func (b *browser) read(body io.ReadCloser) {
	defer body.Close()
	var e event
	for lines := bufio.NewReaderSize(body, 1<<20); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			b.mu.Lock()
			b.ended = true
			b.mu.Unlock()
			return
		}
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch key {
		case "event":
			e.name = value
		case "id":
			e.id = value
		case "data":
			e.data = value
		case "":
			if e.name != "" || value != "" {
				b.take(e)
			}
			e = event{}
		}
	}
}

func (b *browser) take(e event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, e)
	if e.name != eventPatch {
		return
	}
	b.digest = e.id
	var p fragment.Patch
	if err := json.Unmarshal([]byte(e.data), &p); err != nil {
		b.t.Error(err)
	}
	if p.All {
		clear(b.containers)
	}
	maps.Copy(b.elements, p.Set)
	for in, held := range b.containers {
		b.containers[in] = slices.DeleteFunc(slices.Clone(held), func(id string) bool {
			return slices.Contains(p.Gone, id)
		})
	}
	maps.Copy(b.containers, p.Order)
	for in, places := range p.Move {
		for _, place := range places {
			held := slices.DeleteFunc(b.containers[in], func(id string) bool { return id == place.ID })
			at := slices.Index(held, place.Before)
			if at < 0 {
				at = len(held)
			}
			b.containers[in] = slices.Insert(held, at, place.ID)
		}
	}
}

// shown returns the shown rows in their order, and their text.
func (b *browser) shown(container string) (ids []string, html string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range b.containers[container] {
		html += b.elements[id]
	}
	return b.containers[container], html
}

// element returns the last sent element of an id.
func (b *browser) element(id string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.elements[id]
}

// patches sent on the connection.
func (b *browser) patches() []fragment.Patch {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []fragment.Patch
	for _, e := range b.events {
		if e.name == eventPatch {
			var p fragment.Patch
			if err := json.NewDecoder(bytes.NewReader([]byte(e.data))).Decode(&p); err != nil {
				b.t.Error(err)
			}
			all = append(all, p)
		}
	}
	return all
}

// last event of a name.
func (b *browser) last(name string) (event, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range slices.Backward(b.events) {
		if e.name == name {
			return e, true
		}
	}
	return event{}, false
}

func (b *browser) isOver() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended
}
