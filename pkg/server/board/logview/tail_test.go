package logview

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// TestTailIsBounded: the last lines stay, and Missed is set.
func TestTailIsBounded(t *testing.T) {
	var log strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&log, "%s line %d %s\n", at(i), i, strings.Repeat("x", 1000))
	}
	from := &logs{of: map[spec.RankRef]string{worker(0): log.String()}}
	got := ReadTail(t.Context(), from, worker(0), Options{TailLines: 1000}, 64<<10)
	size := 0
	for _, l := range got.Lines {
		size += len(l.Text)
	}
	if size > 64<<10 || len(got.Lines) < 50 || !got.Missed {
		t.Errorf("%d lines of %d bytes, missed: %t", len(got.Lines), size, got.Missed)
	}
	if last := got.Lines[len(got.Lines)-1].Text; !strings.HasPrefix(last, "line 999 ") {
		t.Errorf("the last line is %.20q", last)
	}
	if want := (Position{}).behind(got.Lines[len(got.Lines)-1]); got.Behind != want {
		t.Errorf("the position behind it is %v, want %v", got.Behind, want)
	}
	if from.now.Load() != 0 {
		t.Error("the log was not closed")
	}
}

// TestTailsAreOneLog: sorted by time; a line without a time stays after its predecessor. Failed ranks are
// listed.
func TestTailsAreOneLog(t *testing.T) {
	from := &logs{of: map[spec.RankRef]string{
		worker(0): at(1) + " a\n" + at(4) + " d\nand more\n",
		worker(1): at(2) + " b\n" + at(3) + " c\n",
		worker(3): at(5) + " " + strings.Repeat("x", 1000) + "\n",
	}}
	tails := ReadTails(t.Context(), from, []spec.RankRef{worker(0), worker(1), worker(2), worker(3)}, Options{})
	var got []string
	for _, l := range tails.Lines {
		got = append(got, fmt.Sprintf("%s: %.8s", name(l.Rank), l.Text))
	}
	want := []string{
		"Worker 0: a", "Worker 1: b", "Worker 1: c", "Worker 0: d", "Worker 0: and more", "Worker 3: xxxxxxxx",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(tails.Failed) != 1 || tails.Failed[0].Rank != worker(2) || tails.Failed[0].Problem.Status != 404 {
		t.Errorf("failed are %+v", tails.Failed)
	}
}

// TestManyTails: they are read a few in parallel, within one limit for all.
func TestManyTails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := &logs{of: map[spec.RankRef]string{}, gate: make(chan struct{})}
		q := Query{All: true, Rank: worker(0), Lines: maxLinesEach}
		ranks, next := q.Ranks(jobOf(1000))
		for _, rank := range ranks {
			from.of[rank] = strings.Repeat(at(1)+" "+strings.Repeat("y", 500)+"\n", maxLinesEach)
		}
		read := make(chan Tails)
		go func() { read <- ReadTails(t.Context(), from, ranks, q.Options()) }()
		synctest.Wait()
		if n := from.now.Load(); n != atOnce {
			t.Errorf("%d are read at the same time", n)
		}
		close(from.gate)
		tails := <-read
		size := 0
		for _, l := range tails.Lines {
			size += len(l.Text)
		}
		if size > maxBytes || len(tails.Missed) != maxRanks || next == nil || *next != worker(maxRanks) {
			t.Errorf("%d bytes, %d ranks of which something is missing, next %v", size, len(tails.Missed), next)
		}
		if n := from.closed.Load(); n != maxRanks {
			t.Errorf("%d of %d were closed", n, maxRanks)
		}
	})
}
