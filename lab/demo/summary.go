package demo

import (
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Summary is what the demo prints at the end.
type Summary struct {
	Scheduler        string
	Findings         []Finding
	Figures          []Figures
	OperatorRestarts int
	// Writes of the operator by job; nil where the cluster keeps no audit log.
	Writes map[string]int
	Jobs   map[string]JobState
	Took   time.Duration
	// Release is how long the preempted gang held GPUs after the first of its ranks was picked; negative if it
	// kept them or no rank was picked.
	Release time.Duration
}

// summarise makes the summary of a history.
func summarise(h History, brokered bool) Summary {
	s := Summary{Findings: Verdict(h, brokered), Figures: measure(h), Jobs: h.end().Jobs, Release: -1}
	if p := findPreemption(h); !p.released.IsZero() {
		s.Release = p.released.Sub(p.began)
	}
	if n := len(h.Records); n > 0 {
		s.Took = h.Records[n-1].Time.Sub(h.Records[0].Time)
	}
	return s
}

// print writes the claims, then the figures.
func (s Summary) print(out io.Writer) {
	for _, f := range s.Findings {
		mark := "  ok    "
		if !f.Held {
			mark = "  FAIL  "
		}
		fmt.Fprintln(out, mark+f.Claim)
		if f.Detail != "" {
			fmt.Fprintln(out, wrap(strings.Repeat(" ", len(mark)), f.Detail, 4))
		}
	}
	const format = "  %-8s %7s %15s %15s %9s   %s\n"
	fmt.Fprintf(out, "\n"+format, "GANG", "ATTEMPT", "QUEUED→BOUND", "FREE→BOUND", "RAN", "END")
	for i, f := range s.Figures {
		end := string(s.Jobs[f.Job].Phase)
		switch {
		case f.Preempted:
			end = "preempted"
		case s.again(i):
			end = "restarted"
		}
		fmt.Fprintf(out, format, f.Job, fmt.Sprint(f.Attempt), span(f.ToBound), span(f.FitToBound), span(f.Ran),
			end)
	}
	fmt.Fprintln(out, "\n  BOUND: all ranks have a node. FREE: GPUs for all of them are free.")
	preemptions, restarts := int32(0), int32(0)
	for _, j := range s.Jobs {
		preemptions += j.Preemptions
		restarts += j.Restarts
	}
	release := ""
	if s.Release >= 0 {
		release = fmt.Sprintf(" (all GPUs back after %s)", seconds(s.Release))
	}
	fmt.Fprintf(out, "\n  Preemptions %d%s, restarts after failures %d,\n  operator restarts %d, story %s.\n",
		preemptions, release, restarts, s.OperatorRestarts, clock(s.Took))
	if w := s.Jobs[second].Work; w.Interruptions > 0 {
		fmt.Fprintln(out, wrap("  Work lost: ", w.cost()+".", 2))
	}
	if s.Writes != nil {
		fmt.Fprintln(out, wrap("  API writes by the operator, events included: ", s.writes(), 2))
	}
}

func (s Summary) writes() string {
	var parts []string
	for _, name := range sets.List(sets.KeySet(s.Writes)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, s.Writes[name]))
	}
	return strings.Join(parts, ", ") + "."
}

// again reports whether a later attempt of the same job follows.
func (s Summary) again(i int) bool {
	for _, later := range s.Figures[i+1:] {
		if later.Job == s.Figures[i].Job {
			return true
		}
	}
	return false
}
