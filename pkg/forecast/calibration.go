package forecast

import (
	"cmp"
	"math"
	"slices"
	"time"
)

const (
	// MaxJudged forecasts of a kind count, the last ones.
	MaxJudged = 200
	// MinJudged forecasts of a kind are needed, of which MinHitPercent must have held.
	MinJudged     = 30
	MinHitPercent = 65

	// FirstSpread of a lane without judged forecasts. Each adjustEvery results change it by spreadStep, within
	// minSpreadOfLane and maxSpreadOfLane, until targetHits hold.
	FirstSpread                      = 1.0
	adjustEvery                      = 20
	targetHits                       = 0.8
	spreadStep                       = 0.1
	minSpreadOfLane, maxSpreadOfLane = 0.2, 2.0
)

// Positions is a range of positions within a lane.
type Positions string

// The further behind a gang is, the less is known of its start.
const (
	PositionFirst Positions = "1"
	PositionNear  Positions = "2-5"
	PositionFar   Positions = "6-20"
	PositionLast  Positions = "21+"
)

// PositionsOf a position, from 1.
func PositionsOf(position int) Positions {
	switch {
	case position <= 1:
		return PositionFirst
	case position <= 5:
		return PositionNear
	case position <= 20:
		return PositionFar
	}
	return PositionLast
}

// Kind of forecasts that are judged together.
type Kind struct {
	Scheduler string
	Positions Positions
}

// Hits of the last judged forecasts of a kind.
type Hits struct{ Held, Of int }

// Percent of the forecasts that held, rounded down.
func (h Hits) Percent() int {
	if h.Of == 0 {
		return 0
	}
	return 100 * h.Held / h.Of
}

// calibrated reports whether enough forecasts were judged, and enough of them held.
func (h Hits) calibrated() bool {
	return h.Of >= MinJudged && 100*h.Held >= MinHitPercent*h.Of
}

// Result of a forecast.
type Result string

const (
	// Pending: the gang waits, and may still start in the interval.
	Pending Result = ""
	// Held: the gang started in the interval.
	Held Result = "Held"
	// Early and Late: it did not.
	Early Result = "Early"
	Late  Result = "Late"
)

// Judge returns the result for a gang that starts at a time.
func Judge(earliest, latest, at time.Time) Result {
	switch {
	case at.Before(earliest):
		return Early
	case at.After(latest):
		return Late
	}
	return Held
}

// Record of the forecast that a gang got first.
type Record struct {
	// ID of the gang and its attempt.
	ID string
	Kind
	Lane   string
	Spread float64
	Given  time.Time
	Latest time.Time
	// Result and when it was known. A gang that still waits after Latest is late since then.
	Result Result
	Judged time.Time
}

// AsOf returns the record with the result that is known at a time.
func (r Record) AsOf(now time.Time) Record {
	if r.Result == Pending && now.After(r.Latest) {
		r.Result, r.Judged = Late, r.Latest
	}
	return r
}

// HitsOf the last MaxJudged forecasts of each kind. Those that are pending do not count.
func HitsOf(records []Record, now time.Time) map[Kind]Hits {
	all := map[Kind]Hits{}
	for _, r := range judged(records, now) {
		h := all[r.Kind]
		if h.Of == MaxJudged {
			continue
		}
		h.Of++
		if r.Result == Held {
			h.Held++
		}
		all[r.Kind] = h
	}
	return all
}

// judged returns the judged records, the last first.
func judged(records []Record, now time.Time) []Record {
	var all []Record
	for _, r := range records {
		if r = r.AsOf(now); r.Result != Pending {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b Record) int {
		return cmp.Or(b.Judged.Compare(a.Judged), cmp.Compare(a.ID, b.ID))
	})
	return all
}

// SpreadsOf returns the spread of the next forecasts of each lane that has records. It follows from the last
// forecasts that were given with the same spread, so that it needs no state: after adjustEvery results the
// spread grows if fewer than targetHits held, and shrinks if more did.
func SpreadsOf(records []Record, now time.Time) map[string]float64 {
	lanes := map[string][]Record{}
	for _, r := range records {
		lanes[r.Lane] = append(lanes[r.Lane], r.AsOf(now))
	}
	spreads := map[string]float64{}
	for lane, all := range lanes {
		slices.SortFunc(all, func(a, b Record) int {
			return cmp.Or(b.Given.Compare(a.Given), cmp.Compare(a.ID, b.ID))
		})
		spread := all[0].Spread
		if i := slices.IndexFunc(all, func(r Record) bool { return r.Spread != spread }); i > 0 {
			all = all[:i]
		}
		spreads[lane] = adjusted(spread, judged(all, now))
	}
	return spreads
}

// adjusted returns the spread after results, the last first.
func adjusted(spread float64, results []Record) float64 {
	if len(results) < adjustEvery {
		return spread
	}
	held := 0
	for _, r := range results[:adjustEvery] {
		if r.Result == Held {
			held++
		}
	}
	switch share := float64(held) / adjustEvery; {
	case share < targetHits:
		spread += spreadStep
	case share > targetHits:
		spread -= spreadStep
	}
	spread = math.Round(spread/spreadStep) * spreadStep // sums of tenths are not exact
	return min(max(spread, minSpreadOfLane), maxSpreadOfLane)
}

// Recent returns the records that the next forecasts can depend on: those that are pending, the last
// MaxJudged of each kind, and the last ones of each lane.
func Recent(records []Record, now time.Time) []Record {
	var recent []Record
	for _, r := range records {
		if r.AsOf(now).Result == Pending {
			recent = append(recent, r)
		}
	}
	kinds, lanes := map[Kind]int{}, map[string]int{}
	for _, r := range judged(records, now) {
		kinds[r.Kind]++
		lanes[r.Lane]++
		if kinds[r.Kind] <= MaxJudged || lanes[r.Lane] <= 2*adjustEvery {
			recent = append(recent, r)
		}
	}
	return recent
}
