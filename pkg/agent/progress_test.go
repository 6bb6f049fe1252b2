package agent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// history is a trainer's files over time: "SECONDS NAME: LINE", where status is the status file.
type history []string

// play looks at each second of a history, and returns what a beat has at its end.
func (h history) play(t *testing.T, until int) checkpoint.Beat {
	t.Helper()
	start := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	p, l := newProgress(start), look{beats: map[string]string{}}
	for at := 0; at <= until; at++ {
		for _, entry := range h {
			var second int
			var name string
			when, text, _ := strings.Cut(entry, ": ")
			if _, err := fmt.Sscan(when, &second, &name); err != nil {
				t.Fatal(err)
			}
			switch {
			case second != at:
			case name == "status":
				s, err := checkpoint.ParseStatus([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				l.status = s
			default:
				l.beats[name] = text
			}
		}
		if err := p.add(start.Add(time.Duration(at)*time.Second), l); err != nil {
			t.Fatal(err)
		}
	}
	return p.beat(start.Add(time.Duration(until) * time.Second))
}

// steps are lines of a process that finishes a step at an interval.
func steps(name string, first, interval, count int, format string) history {
	var h history
	for i := range count {
		h = append(h, fmt.Sprintf("%d %s: "+format, first+i*interval, name, i+1))
	}
	return h
}

func summary(b checkpoint.Beat) string {
	text := fmt.Sprintf("idle %g", b.IdleSeconds)
	if b.Step != nil {
		text += fmt.Sprintf(" step %d", *b.Step)
	}
	for name, x := range map[string]string{"phase": string(b.Phase), "where": b.Where} {
		if x != "" {
			text += " " + name + " " + x
		}
	}
	for _, x := range []struct {
		name  string
		value float64
	}{
		{"first", b.FirstStepSeconds}, {"pause", b.LongestPauseSeconds}, {"each", b.StepSeconds},
		{"busy", b.BusySeconds},
	} {
		if x.value != 0 {
			text += fmt.Sprintf(" %s %g", x.name, x.value)
		}
	}
	return text
}

func TestProgress(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		history history
		until   int
		want    string
	}{
		"nothing": {"idle counts from the start", nil, 40, "idle 40"},
		"steps": {
			"the file changes after each step",
			steps("beat", 10, 2, 20, "%d"), 48, "idle 0 step 20 first 10 pause 2 each 2",
		},
		"a hang": {
			"no step counts", steps("beat", 10, 2, 20, "%d Training"), 900,
			"idle 852 step 20 phase Training first 10 pause 2 each 2",
		},
		"a heartbeat": {
			"once there were numbers, the same number again is no progress, whatever is around it",
			append(steps("beat", 1, 1, 5, "%d Training a"), "6 beat: 5 Training b", "8 beat: 5 Training c",
				"9 beat: alive"), 20, "idle 15 step 5 where c phase Training first 1 pause 1 each 1",
		},
		"texts": {
			"without a number any change is progress", history{"3 beat: one", "9 beat: two", "20 beat: three"}, 25,
			"idle 5 first 9 pause 11",
		},
		"a restart in the pod": {
			"a lower number is no progress by itself, the next one is",
			history{"1 beat: 100", "2 beat: 101", "30 beat: 50", "40 beat: 51"}, 45,
			"idle 5 step 101 first 1 pause 38 each 10",
		},
		"an evaluation": {
			"a phase with its own limit is no pause and no step time, and its end is progress",
			append(steps("beat", 1, 2, 10, "%d Training"), "20 beat: 10 Evaluating", "420 beat: 10 Training",
				"422 beat: 11 Training", "424 beat: 12 Training"), 425,
			"idle 1 step 12 phase Training first 1 pause 2 each 2",
		},
		"a resume": {
			"while it starts, a number is not a finished step",
			history{"5 beat: 500 Starting", "60 beat: 501 Training", "70 beat: 502 Training"}, 71,
			"idle 1 step 502 phase Training first 60 pause 10 each 10",
		},
		"step 0": {
			"step 0 is not finished", history{"5 beat: 0 Training", "60 beat: 1 Training"}, 60,
			"idle 0 step 1 phase Training first 60 each 55",
		},
		"before step 1": {"step 0 is not finished", history{"5 beat: 0 Training"}, 20, "idle 15 phase Training"},
		"before the first step of a resume": {
			"the step of the resume point is not finished by this trainer",
			history{"5 beat: 500 Starting", "8 beat: 500 Training", `9 status: {"step":500,"phase":"Training"}`}, 20,
			"idle 11 phase Training",
		},
		"a status file": {
			"rank 0 writes the step of its resume point before it trains",
			history{`5 status: {"step":500,"phase":"Training"}`, `65 status: {"step":501,"phase":"Training"}`,
				`70 status: {"step":502,"phase":"Saving"}`}, 71,
			"idle 1 step 502 phase Saving first 65 pause 5 each 60",
		},
		"a status file that is written again": {
			"as a heartbeat", history{`5 status: {"step":5}`, `6 status: {"step":6}`,
				`50 status: {"step":6,"epoch":1}`}, 60, "idle 54 step 6 first 6 each 1",
		},
		"both files": {
			"the beats have the step, any file shows progress",
			history{"1 beat: 5", "2 beat: 6", `9 status: {"step":8,"phase":"Saving"}`}, 10,
			"idle 1 step 6 phase Saving first 1 pause 7 each 1",
		},
		"completed": {
			"the status file has the last word",
			history{"1 beat: 5 Training", `9 status: {"step":5,"phase":"Completed"}`}, 10,
			"idle 1 step 5 phase Completed first 1 pause 8",
		},
		"local processes": {
			"the rank has finished what all of its processes have; one that progresses is enough",
			append(append(steps("beat.0", 1, 1, 9, "%d Training a busy=%[3]d"),
				steps("beat.1", 1, 1, 4, "%d Training loader")...), "9 beat.2: 4 Saving b"), 10,
			"idle 1 step 4 phase Saving where loader first 1 pause 1 each 1 busy 1",
		},
		"fewer local processes": {
			"the file of a process that is gone does not hold the rank back",
			append(steps("beat.0", 1, 1, 200, "%d Training"), "1 beat.1: 1 Waiting lost"), 200,
			"idle 0 step 200 phase Training first 1 pause 1 each 1",
		},
		"busy": {
			"per step, of what the trainer has summed up", steps("beat", 4, 4, 10, "%d busy=%[3]d.5"), 44,
			"idle 4 step 10 first 4 pause 4 each 4 busy 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Fields(summary(tc.history.play(t, tc.until)))
			want := strings.Fields(tc.want)
			count := map[string]int{}
			for i, word := range got {
				count[word]++
				count[want[min(i, len(want)-1)]]--
			}
			for word, n := range count {
				if n != 0 || len(got) != len(want) {
					t.Fatalf("%s: got %q, want %q (%s)", tc.reason, got, want, word)
				}
			}
		})
	}
}

// TestProgressIsBounded, whatever the files hold.
func TestProgressIsBounded(t *testing.T) {
	p, now := newProgress(time.Now()), time.Now()
	for i := range 5000 {
		now = now.Add(30 * 24 * time.Hour)
		_ = p.add(now, look{beats: map[string]string{
			"beat":                      fmt.Sprintf("%d Training %s busy=1e11", i, strings.Repeat("\u202e", i%70)),
			fmt.Sprint("beat.", i%1024): strings.Repeat("9", i%300),
		}})
	}
	b := p.beat(now.Add(1e9 * time.Second))
	b.Attempt = 1
	if data, err := checkpoint.Encode(b); err != nil || len(data) > checkpoint.MaxBeatBytes {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if f := p.files["beat"]; len(p.files) > 1025 || len(f.steps) > windowSize || len(f.busy) > windowSize {
		t.Errorf("%d files, %d step times", len(p.files), len(f.steps))
	}
}
