package sim

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/reservation"
)

// contended is a small cluster whose large gangs wait, with quotas and failures.
var contended = Shape{
	Nodes: 24, GPUsPerNode: 8, For: 72 * time.Hour, Load: 0.85, Interval: 30 * time.Minute,
	Save: 30 * time.Second, Start: 2 * time.Minute, Quotas: []int64{144, 144},
	Faults: Faults{GPUTime: 2000 * time.Hour, NodeTime: 400 * time.Hour, Repair: 2 * time.Hour},
}

var properties = Properties{Reporters: 0.8, Deadlines: 0.5, Round: true, Lenders: 0.5, Queues: 2}

func backfillWays() []Way {
	policy := &reservation.Policy{
		MaxReservations: 1, MaxSharePercent: 50, MaxHold: 6 * time.Hour, MaxAge: 12 * time.Hour, MarginPercent: 25,
		Placing: 30 * time.Second, MaxKeepsOff: 32,
	}
	reserve := Backfill{Policy: policy, Large: 32, After: 30 * time.Minute}
	lend := reserve
	lend.Lend = true
	return []Way{
		{Name: "today", Backfill: &Backfill{}}, {Name: "strict", Backfill: &Backfill{Strict: true}},
		{Name: "reserve", Backfill: &reserve}, {Name: "lend", Backfill: &lend},
	}
}

// TestBackfillEndsAllGangs: with faults, quotas and deadlines each gang ends, no node and no quota has more
// than it holds, no gang is held for too long, and the same seed gives the same result.
func TestBackfillEndsAllGangs(t *testing.T) {
	for _, way := range backfillWays() {
		recalls := 0
		for seed := range uint64(3) {
			jobs := Draw(Generate(contended, seed), properties, seed)
			p := newSimulation(contended, jobs, way, seed)
			for p.step() {
				for i, free := range p.free {
					if free < 0 || free > contended.GPUsPerNode {
						t.Fatalf("%s: node %d has %d GPUs free", way.Name, i, free)
					}
				}
				for i, free := range p.quotas {
					if free < 0 || free > contended.Quotas[i] {
						t.Fatalf("%s: queue %d has %d GPUs free", way.Name, i, free)
					}
				}
			}
			r := p.result
			if n := len(r.Delays) + r.Expired; n != len(jobs) || r.Failures == 0 {
				t.Errorf("%s: %d of %d gangs ended, %d failures", way.Name, n, len(jobs), r.Failures)
			}
			if most := 6 * time.Hour; r.LongestHold > most {
				t.Errorf("%s: a gang was held for %s, more than %s", way.Name, r.LongestHold, most)
			}
			if reserves := way.Backfill.Policy != nil; (r.Reservations > 0) != reserves {
				t.Errorf("%s: %d reservations", way.Name, r.Reservations)
			}
			recalls += r.Recalls
			if diff := cmp.Diff(r, Play(contended, jobs, way, seed)); diff != "" {
				t.Errorf("%s: again: %s", way.Name, diff)
			}
		}
		if (recalls > 0) != way.Backfill.Lend {
			t.Errorf("%s: %d recalls", way.Name, recalls)
		}
	}
}

// TestStrictOrderStartsNoGangEarly: without quotas each gang starts after all that came before it.
func TestStrictOrderStartsNoGangEarly(t *testing.T) {
	s := contended
	s.Quotas, s.Faults = nil, Faults{}
	for _, way := range backfillWays()[:2] {
		jobs := Generate(s, 1)
		p := newSimulation(s, jobs, way, 1)
		overtaken := 0
		for p.step() {
			for _, w := range p.waiting {
				for _, r := range p.running {
					if r.began == p.now && r.Arrives > w.Arrives {
						overtaken++
					}
				}
			}
		}
		if (overtaken > 0) == way.Backfill.Strict {
			t.Errorf("%s: gangs were overtaken %d times", way.Name, overtaken)
		}
	}
}

// TestReservationShortensTheWaitOfLargeGangs: a stream of small gangs keeps a large one waiting.
func TestReservationShortensTheWaitOfLargeGangs(t *testing.T) {
	var jobs []Job
	for i := range 400 {
		jobs = append(jobs, Job{
			ID: i, Ranks: 1, GPUs: 8, Work: 4 * time.Hour, Interval: time.Hour, Save: time.Second,
			Arrives: time.Duration(i) * 28 * time.Minute, Reports: true, Error: 1,
		})
	}
	jobs = append(jobs, Job{
		ID: 400, Ranks: 4, GPUs: 8, Work: time.Hour, Interval: time.Hour, Save: time.Second,
		Arrives: 10 * time.Hour,
	})
	s, wait := Shape{Nodes: 8, GPUsPerNode: 8}, map[string]time.Duration{}
	for _, way := range backfillWays() {
		for _, w := range Play(s, jobs, way, 1).FirstWaits {
			if w.GPUs > 8 {
				wait[way.Name] = w.Time
			}
		}
	}
	t.Log(wait)
	if wait["today"] < 24*time.Hour || wait["reserve"] > 6*time.Hour {
		t.Errorf("the large gang waits %s, and %s with a reservation", wait["today"], wait["reserve"])
	}
}

// TestDrawAddsGangs: a larger share has all gangs of a smaller one.
func TestDrawAddsGangs(t *testing.T) {
	jobs := Generate(contended, 1)
	few, many := properties, properties
	many.Lenders, many.Reporters, many.Deadlines = 0.8, 1, 0.9
	a, b := Draw(jobs, few, 1), Draw(jobs, many, 1)
	lenders := 0
	for i := range a {
		if a[i].Lends && !b[i].Lends || a[i].Reports && !b[i].Reports || a[i].Deadline > b[i].Deadline ||
			a[i].Queue != b[i].Queue || a[i].Error != b[i].Error {
			t.Errorf("gang %d: %+v with more shares %+v", i, a[i], b[i])
		}
		if a[i].Lends {
			lenders++
		}
	}
	if share := float64(lenders) / float64(len(a)); share < 0.4 || share > 0.6 {
		t.Errorf("%.2f lend, want 0.5", share)
	}
}
