package forecast

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var first = Kind{"volcano", PositionFirst}

// record of a forecast that was given so many hours before the start of the tests.
func record(n int, ago float64, edit func(*Record)) Record {
	r := Record{
		ID: fmt.Sprint(n), Kind: first, Lane: "a", Spread: FirstSpread, Given: in(-ago), Latest: in(1 - ago),
		Result: Held, Judged: in(0.5 - ago),
	}
	if edit != nil {
		edit(&r)
	}
	return r
}

func result(result Result) func(*Record) { return func(r *Record) { r.Result = result } }

func TestHitsOf(t *testing.T) {
	many := func(n int, edit func(i int, r *Record)) (all []Record) {
		for i := range n {
			all = append(all, record(i, 1000-float64(i), func(r *Record) { edit(i, r) }))
		}
		return all
	}
	for name, tc := range map[string]struct {
		reason  string
		records []Record
		want    map[Kind]Hits
	}{
		"results": {
			reason:  "only those that held are hits",
			records: []Record{record(1, 9, nil), record(2, 8, result(Early)), record(3, 7, result(Late))},
			want:    map[Kind]Hits{first: {1, 3}},
		},
		"pending": {
			reason: "what may still hold does not count", want: map[Kind]Hits{},
			records: []Record{record(1, 0.5, result(Pending))},
		},
		"late while it waits": {
			reason: "it counts as soon as its latest time is over", want: map[Kind]Hits{first: {0, 1}},
			records: []Record{record(1, 2, result(Pending))},
		},
		"kinds": {
			reason: "they count apart",
			records: []Record{record(1, 9, nil), record(2, 9, func(r *Record) { r.Positions = PositionLast }),
				record(3, 9, func(r *Record) { r.Scheduler = "kueue" })},
			want: map[Kind]Hits{first: {1, 1}, {"volcano", PositionLast}: {1, 1}, {"kueue", PositionFirst}: {1, 1}},
		},
		"the last 200": {
			reason: "older ones do not count", want: map[Kind]Hits{first: {150, 200}},
			records: many(300, func(i int, r *Record) {
				if i < 150 {
					r.Result = Early
				}
			}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, HitsOf(tc.records, start)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	for at, want := range map[float64]Result{0.9: Early, 1: Held, 1.5: Held, 2: Held, 2.1: Late} {
		if got := Judge(in(1), in(2), in(at)); got != want {
			t.Errorf("a start after %v hours is %s, want %s", at, got, want)
		}
	}
}

func TestPlaceOf(t *testing.T) {
	for position, want := range map[int]Positions{
		1: PositionFirst, 2: PositionNear, 5: PositionNear, 6: PositionFar, 20: PositionFar, 21: PositionLast,
	} {
		if got := PositionsOf(position); got != want {
			t.Errorf("position %d is %s, want %s", position, got, want)
		}
	}
}

func TestSpreadsOf(t *testing.T) {
	// results of forecasts with a spread, the last of them given so many hours ago.
	results := func(held, missed int, spread, ago float64) (all []Record) {
		for i := range held + missed {
			all = append(all, record(int(100*ago)+i, ago+float64(held+missed-i)/100, func(r *Record) {
				if r.Spread = spread; i >= held {
					r.Result = Late
				}
			}))
		}
		return all
	}
	for name, tc := range map[string]struct {
		reason  string
		records []Record
		want    float64
	}{
		"few":        {"fewer than 20 results say nothing", results(0, 19, 1, 5), 1},
		"missed":     {"fewer than 80% held", results(15, 5, 1, 5), 1.1},
		"held":       {"more than 80% held", results(17, 3, 1, 5), 0.9},
		"on target":  {"80% held", results(16, 4, 1, 5), 1},
		"the widest": {"it is bounded", results(0, 20, 2, 5), 2},
		"narrowest":  {"it is bounded", results(20, 0, 0.2, 5), 0.2},
		"last ones": {"the last 20 of the spread count",
			append(results(20, 0, 1, 50), results(0, 20, 1, 5)...), 1.1},
		"since the change": {"results of another spread do not count",
			append(results(0, 20, 1, 50), results(0, 19, 1.1, 5)...), 1.1},
		"back again": {"results before the change do not count either",
			append(append(results(0, 20, 1, 90), results(20, 0, 1.1, 50)...), results(0, 3, 1, 5)...), 1},
	} {
		t.Run(name, func(t *testing.T) {
			got := SpreadsOf(tc.records, start)
			if math.Abs(got["a"]-tc.want) > 1e-9 {
				t.Errorf("%s: it is %v, want %v", tc.reason, got["a"], tc.want)
			}
		})
	}
}

// TestSpreadFindsTheErrors: the spread grows or shrinks until about 80% hold, whatever the errors are. Only
// what Recent keeps is known.
func TestSpreadFindsTheErrors(t *testing.T) {
	for _, errors := range []float64{0.4, 1, 1.6} {
		r := rand.New(rand.NewPCG(1, 2))
		var records []Record
		spread, held := FirstSpread, 0
		const n, counted = 2000, 1500
		for i := range n {
			now := start.Add(time.Duration(i) * time.Minute)
			if s, known := SpreadsOf(records, now)["a"]; known {
				spread = s
			}
			rec := Record{ID: fmt.Sprint(i), Kind: first, Lane: "a", Spread: spread, Given: now,
				Latest: now.Add(time.Hour), Result: Late, Judged: now.Add(time.Second)}
			if math.Abs(r.NormFloat64()*errors) < lowPoint*spread {
				if rec.Result = Held; i >= n-counted {
					held++
				}
			}
			if records = append(records, rec); i%20 == 19 {
				records = Recent(records, now)
			}
		}
		if math.Abs(spread-errors) > 0.45 || held < counted*75/100 || held > counted*85/100 {
			t.Errorf("with errors of %v the spread is %v, and %d of %d held", errors, spread, held, counted)
		}
	}
}

// TestRecentIsEnough: hits and spreads are the same without the other records.
func TestRecentIsEnough(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var records []Record
	for i := range 2000 {
		records = append(records, record(i, 2000-float64(i), func(rec *Record) {
			rec.Positions = []Positions{PositionFirst, PositionNear}[r.IntN(2)]
			rec.Lane = fmt.Sprint(r.IntN(3))
			rec.Result = []Result{Pending, Held, Early, Late}[r.IntN(4)]
			rec.Spread = 1 + float64(i/500)/10
		}))
	}
	recent := Recent(records, start)
	if len(recent) > len(records)/4 {
		t.Errorf("%d of %d records are kept", len(recent), len(records))
	}
	if diff := cmp.Diff(HitsOf(records, start), HitsOf(recent, start)); diff != "" {
		t.Error("the hits differ:", diff)
	}
	if diff := cmp.Diff(SpreadsOf(records, start), SpreadsOf(recent, start)); diff != "" {
		t.Error("the spreads differ:", diff)
	}
}
