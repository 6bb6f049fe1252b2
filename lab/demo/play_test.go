package demo

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// newPlayer plays with the records of a history that ends.
func newPlayer(t *testing.T, h History) *player {
	records := make(chan Record)
	go func() {
		for _, r := range h.Records {
			select {
			case records <- r:
			case <-t.Context().Done():
			}
		}
	}()
	return &player{
		acts: Story(false), display: lineLog{io.Discard}, records: records,
		apply: func(context.Context, string) error { return nil },
	}
}

func TestPlay(t *testing.T) {
	p := newPlayer(t, storyHistory(nil))
	var applied []string
	p.apply = func(_ context.Context, file string) error {
		applied = append(applied, file)
		return nil
	}
	if err := p.play(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"first.yaml", "second.yaml", "urgent.yaml"}, applied); diff != "" {
		t.Errorf("files applied (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(storyHistory(nil), p.history); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

func TestPlayEndsWithAnError(t *testing.T) {
	lost := errors.New("the watch has a gap")
	failed := make(chan error, 1)
	failed <- lost
	refused := errors.New("no such kind")
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	tests := map[string]struct {
		reason string
		ctx    context.Context
		change func(*player)
		want   error
	}{
		"a watch with a gap": {
			"a history with a gap proves nothing", t.Context(), func(p *player) { p.failed = failed }, lost,
		},
		"a file is refused": {"no story without it", t.Context(), func(p *player) {
			p.apply = func(context.Context, string) error { return refused }
		}, refused},
		"interrupted": {"Ctrl-C", interrupted, func(*player) {}, context.Canceled},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPlayer(t, History{})
			test.change(p)
			if err := p.play(test.ctx); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v: %s", err, test.want, test.reason)
			}
		})
	}
}

func TestPlayNamesActThatTimesOut(t *testing.T) {
	p := newPlayer(t, History{})
	p.acts[0].Within = time.Nanosecond
	err := p.play(t.Context())
	if err == nil || !strings.Contains(err.Error(), p.acts[0].Title) {
		t.Errorf("got %v, want an error that names %q", err, p.acts[0].Title)
	}
}

func TestPlayCountsOperatorRestarts(t *testing.T) {
	endings := make(chan ending)
	p := newPlayer(t, storyHistory(nil))
	p.endings = endings
	p.apply = func(_ context.Context, file string) error {
		if file == "second.yaml" {
			// Unbuffered: nothing more is recorded before they are taken.
			go func() {
				endings <- ending{"server", nil} // is shown, but not counted
				endings <- ending{operatorName, nil}
			}()
		}
		return nil
	}
	p.acts[1].Over = func(*ClusterState) bool { return p.frame.operatorRestarts > 0 }
	if err := p.play(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p.frame.operatorRestarts != 1 {
		t.Errorf("%d restarts", p.frame.operatorRestarts)
	}
}
