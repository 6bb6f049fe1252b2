package logview

import (
	"context"
	"errors"
	"io"
	"slices"

	"golang.org/x/sync/errgroup"

	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Bounds of a page.
const (
	// maxBytes of text of a page.
	maxBytes = 1 << 20
	// atOnce is the number of logs that are read in parallel.
	atOnce = 8
)

// Tail is the end of one rank's log.
type Tail struct {
	Rank  spec.RankRef
	Lines []Line
	// Missed reports whether earlier lines were left out because of their size.
	Missed bool
	// Behind is the position after the last line.
	Behind Position
	// Problem is why it could not be read completely, or nil.
	Problem *problem.Problem
}

// ReadTail reads the last lines of a rank: o.TailLines, up to a number of bytes of text.
func ReadTail(ctx context.Context, from Opener, rank spec.RankRef, o Options, bytes int) Tail {
	t := Tail{Rank: rank}
	o.Follow = false
	log, err := from.Open(ctx, rank, o)
	if err != nil {
		t.Problem = problem.Of(err)
		return t
	}
	defer log.Close()
	t.Behind = t.Behind.in(log.Pod)
	size := 0
	for r := newReader(log); ; {
		line, err := r.next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Problem = problem.Of(err)
			}
			return t
		}
		t.Behind = t.Behind.behind(line)
		t.Lines = append(t.Lines, line)
		size += cost(line)
		first := 0
		for first < len(t.Lines)-1 && size > bytes {
			size -= cost(t.Lines[first])
			first++
		}
		if first > 0 {
			t.Missed = true
			t.Lines = slices.Delete(t.Lines, 0, first)
		}
	}
}

// cost is the approximate size of a line in memory.
func cost(l Line) int { return len(l.Text) + 64 }

// RankLine is a line with its rank.
type RankLine struct {
	Rank spec.RankRef
	Line
}

// Tails are the ends of several logs, merged by time as far as the nodes' clocks agree.
type Tails struct {
	Lines []RankLine
	// Behind are the positions after the last lines.
	Behind Positions
	// Missed and Failed are the ranks with missing lines, in order.
	Missed []spec.RankRef
	Failed []Tail
}

// ReadTails reads the last lines of each rank.
func ReadTails(ctx context.Context, from Opener, ranks []spec.RankRef, o Options) Tails {
	all := make([]Tail, len(ranks))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i, rank := range ranks {
		g.Go(func() error {
			all[i] = ReadTail(ctx, from, rank, o, maxBytes/len(ranks))
			return nil
		})
	}
	_ = g.Wait() // each tail has its own problem
	t := Tails{Behind: Positions{}}
	for _, one := range all {
		if !one.Behind.Time.IsZero() {
			t.Behind[one.Rank] = one.Behind
		}
		for _, line := range one.Lines {
			t.Lines = append(t.Lines, RankLine{one.Rank, line})
		}
		if one.Missed {
			t.Missed = append(t.Missed, one.Rank)
		}
		if one.Problem != nil {
			one.Lines = nil
			t.Failed = append(t.Failed, one)
		}
	}
	// A line without a time stays after the previous one: only known times are compared.
	for i := 1; i < len(t.Lines); i++ {
		if t.Lines[i].Time.IsZero() && t.Lines[i].Rank == t.Lines[i-1].Rank {
			t.Lines[i].Time = t.Lines[i-1].Time
		}
	}
	slices.SortStableFunc(t.Lines, func(a, b RankLine) int { return a.Time.Compare(b.Time) })
	return t
}
