package jobview

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/explain"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/history/historytest"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment/fragmenttest"
	"mlplatform.example.com/trainingjob-operator/pkg/timeline"
)

// TestUnknownGPUs: what the operator cannot count is not none.
func TestUnknownGPUs(t *testing.T) {
	in := scenarios["runs"]()
	in.Live.Status.GPUs, in.Live.Status.GPUsUnknown = 0, "ResourceClaimTemplate gpus does not exist"
	for i := range in.Record.Attempts {
		in.Record.Attempts[i].GPUs = 0
	}
	in.Record.Job.GPUs = 0
	v := Of(in)
	for _, p := range v.Header.Properties {
		if p.Name == "GPUs" && p.Text != unknown {
			t.Errorf("the job has %q GPUs", p.Text)
		}
	}
	if row := v.Attempts.Rows[len(v.Attempts.Rows)-1]; row.GPUs != unknown {
		t.Errorf("the attempt has %q GPUs", row.GPUs)
	}
}

// TestAnyHistoryIsAPage: with random histories and missing events, the page renders, has no invalid number,
// and no bar outside of its chart.
func TestAnyHistoryIsAPage(t *testing.T) {
	for seed := range uint64(40) {
		played := historytest.Play(seed)
		var r history.Record
		for i, version := range played.Versions {
			if seed%3 > 0 && i%int(2+seed%5) != 0 {
				continue // a missing event
			}
			r = history.Merge(r, history.Of("lab", version, history.Options{}))
		}
		job := played.Versions[len(played.Versions)-1]
		r = history.Merge(r, history.Of("lab", job, history.Options{}))
		in := Input{
			Record: r, Live: job, Samples: r.Samples, Explanation: new(explain.Of(job, played.End)),
			Timeline: timeline.OfRecord(r), Now: played.End.Add(time.Duration(seed) * time.Minute),
		}
		if seed%4 == 0 {
			in.Live, in.Explanation, in.By = nil, nil, ByTime
		}
		v := Of(in)
		all, err := v.Fragments()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		fragmenttest.Check(t, all)
		for _, f := range all {
			for _, bad := range []string{"NaN%", "Inf%", "NaN\"", "MNaN", "LNaN", `width="-`, "%!"} {
				if strings.Contains(string(f.HTML), bad) {
					t.Errorf("seed %d: %s has %s", seed, f.ID, bad)
				}
			}
		}
		for _, l := range v.Attempts.Lanes {
			for _, b := range l.Bars {
				if b.At < 0 || b.Width < 0 || b.At+b.Width > 100.001 {
					t.Errorf("seed %d: a bar is at %v, %v wide", seed, b.At, b.Width)
				}
			}
		}
	}
}

// TestPagesAreCalm: without events only the chart of attempts and the cost change, and less often than every
// second.
func TestPagesAreCalm(t *testing.T) {
	changed := map[string]int{}
	last := map[string]string{}
	in := preemptedTwice("bert").input()
	now := in.Now
	for look := range 30 {
		in.Now = now.Add(time.Duration(2*look) * time.Second)
		in.Explanation = new(explain.Of(in.Live, in.Now))
		v := Of(in)
		all, err := v.Fragments()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			if had, seen := last[f.ID]; seen && had != f.Version() {
				changed[f.ID]++
			}
			last[f.ID] = f.Version()
		}
	}
	if n := changed["job-attempts"]; n < 1 || n > 6 {
		t.Errorf("the chart was sent %d times in a minute", n)
	}
	if n := changed["job-cost"]; n < 1 || n > 6 {
		t.Errorf("the cost was sent %d times in a minute", n)
	}
	delete(changed, "job-attempts")
	delete(changed, "job-cost")
	if len(changed) > 0 {
		t.Errorf("others have changed: %v", changed)
	}
}

// TestUnknownIsNeverZero: without a price, a loss or an end the cost is unknown.
func TestUnknownIsNeverZero(t *testing.T) {
	in := preemptedTwice("bert").input()
	if c := costOf(&in); c.Total.Cost != "83.08\u00A0EUR" || c.Total.GPUHours != "28.75" {
		t.Errorf("it cost %+v", c.Total)
	}
	if c := costOf(&in); c.Lost.Cost != "10.79\u00A0EUR" || c.Lost.GPUHours != "3.73" {
		t.Errorf("what was lost cost %+v", c.Lost)
	}
	full := in.Record
	in.Record.Counts = nil // as in the API's answer
	if c := costOf(&in); c.Lost.Cost != "10.79\u00A0EUR" {
		t.Errorf("what was lost cost %+v", c.Lost)
	}
	in.Record.Attempts = append([]history.Attempt{}, full.Attempts...)
	in.Record.Attempts[0].GPUKind = "NVIDIA-A100"
	c := costOf(&in)
	if c.Total.Cost != unknown || c.Lost.Cost != unknown || len(c.Rows) != 2 {
		t.Errorf("of one kind the price is not known, but it cost %+v, and what was lost %+v", c.Total, c.Lost)
	}
	in.Record = full
	in.Record.Preemptions = []history.Preemption{{Attempt: 1, Time: epoch, Reason: "NodeLost"}}
	p := preemptionsOf(&in)
	if p.Hidden != 1 || p.Rows[0].Cost != unknown || p.Rows[0].LostSteps != unknown || p.Rows[0].By != unknown {
		t.Errorf("nothing is known of it but %+v", p)
	}
	in.Record.Preemptions[0].Answer = history.AnswerInVain
	if html, _ := rendered(t, in); !strings.Contains(html, "NodeLost (checkpoint requested, not saved)") {
		t.Error("the requested checkpoint is missing")
	}
	in.Prices = map[string]*big.Rat{}
	if html, _ := rendered(t, in); !strings.Contains(html, "no prices are configured") {
		t.Error("the note about missing prices is missing")
	}
}

// TestSmallSumsAreExact: they are not rounded to zero.
func TestSmallSumsAreExact(t *testing.T) {
	for sum, want := range map[string]string{
		"0": "0.00", "1/1000": "0.001000", "1/3": "0.33", "2345/2": "1172.50",
	} {
		r, _ := new(big.Rat).SetString(sum)
		if got := money(r, "EUR"); got != want+"\u00A0EUR" {
			t.Errorf("%s is formatted as %s", sum, got)
		}
	}
	if got := hours(9); got != "0.0025" {
		t.Errorf("9 GPU-seconds are %s hours", got)
	}
}

// TestInputIsNotChanged: records and jobs are shared.
func TestInputIsNotChanged(t *testing.T) {
	in := preemptedTwice("bert").input()
	written := func() string {
		text, err := json.Marshal([]any{in.Live, in.Record, in.Samples, in.Timeline, in.Explanation})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := written()
	v := Of(in)
	if _, err := v.Fragments(); err != nil {
		t.Fatal(err)
	}
	if written() != before {
		t.Error("it has changed")
	}
}
