package jobview

import (
	"maps"
	"math/big"
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/cost"
)

// costStep is how often a cost that goes up is said anew.
const costStep = 10 * time.Second

// Cost so far.
type Cost struct {
	Rows  []CostRow // by kind of GPU
	Total CostRow
	// Lost is the part of the total that was trained again, or must be.
	Lost CostRow
	// Priced reports whether there are prices at all.
	Priced bool
	// Until is up to when it is counted, where it goes up; nil: it is final as far as is known.
	Until *time.Time
	// Notes are sentences about what is assumed or not known.
	Notes []string
}

// CostRow is what GPUs of one kind cost.
type CostRow struct {
	Kind     string
	GPUHours string
	Price    string // of a GPU-hour
	Cost     string // with its currency, or that it is unknown
}

// used are GPU-seconds by kind of GPU.
type used map[string]int64

func costOf(in *Input) Cost {
	c := Cost{Priced: len(in.Prices) > 0}
	now := in.Now.Truncate(costStep)
	ran := used{}
	var assumed, ends int64
	for _, s := range in.Record.Spans() {
		if !s.Running {
			continue
		}
		if s.Assumed {
			assumed++
		}
		to := s.To
		switch {
		case s.Open:
			to = &now
			c.Until = &now
		case to == nil:
			ends++
			continue
		}
		ran[s.GPUKind] += max(0, int64(to.Sub(s.From)/time.Second)) * s.GPUs
	}
	for _, kind := range slices.Sorted(maps.Keys(ran)) {
		if ran[kind] > 0 {
			c.Rows = append(c.Rows, costRow(in, known(kind), used{kind: ran[kind]}))
		}
	}
	c.Total, c.Lost = costRow(in, "", ran), lostRow(in, ran)
	c.Notes = costNotes(assumed, ends, int64(in.Record.Job.Attempt)-int64(len(in.Record.Attempts)))
	return c
}

// lostRow is what the operator has counted as lost. Its cost is known where it is known of which kind of GPU
// it was: by the ends of attempts that the record has, or since there was only one.
func lostRow(in *Input, ran used) CostRow {
	var total, sum int64
	if w := in.Record.Job.Work; w != nil {
		total = w.LostGPUSeconds
	}
	lost := used{}
	for _, e := range in.Record.Endings() {
		lost[e.GPUKind] += e.Lost.GPUSeconds
		sum += e.Lost.GPUSeconds
	}
	kinds := slices.Collect(maps.Keys(ran))
	switch {
	case sum == total:
	case len(kinds) == 1:
		lost = used{kinds[0]: total}
	default:
		return CostRow{GPUHours: hours(total), Cost: unknown}
	}
	return costRow(in, "", lost)
}

// costNotes on attempts whose GPUs are assumed, runs whose ends are not known, and attempts of which nothing
// is.
func costNotes(assumed, ends, lacking int64) []string {
	var notes []string
	if lacking > 0 {
		notes = append(notes, "Of "+count(lacking, "attempt")+" nothing is known: what they used is not counted.")
	}
	if assumed > 0 {
		notes = append(notes, "Nobody saw "+count(assumed, "attempt")+
			" run: their GPUs are taken to be those of the next.")
	}
	if ends > 0 {
		notes = append(notes, "When "+count(ends, "run")+" ended is "+unknown+": they are not counted.")
	}
	return notes
}

func costRow(in *Input, kind string, u used) CostRow {
	var sum int64
	for _, n := range u {
		sum += n
	}
	row := CostRow{Kind: kind, GPUHours: hours(sum), Cost: price(in, u)}
	if p, has := in.Prices[kind]; has {
		row.Price = money(p, in.Currency)
	}
	return row
}

// price of GPU-seconds in words.
func price(in *Input, u used) string {
	var c cost.Cost
	for kind, n := range u {
		c.Add(n, kind, in.Prices)
	}
	amount := c.Amount()
	if amount == nil {
		return unknown
	}
	sum, _ := new(big.Rat).SetString(*amount)
	return money(sum, in.Currency)
}

// money in words: as coins are, and where that would round it to nothing as it is.
func money(sum *big.Rat, currency string) string {
	digits := 2
	if sum.Sign() > 0 && sum.Cmp(big.NewRat(1, 100)) < 0 {
		digits = 6
	}
	return sum.FloatString(digits) + "\u00A0" + currency
}

// hours of GPU-seconds in words.
func hours(gpuSeconds int64) string {
	if gpuSeconds > 0 && gpuSeconds < 36 { // less than a hundredth
		return cost.Hours(gpuSeconds)
	}
	return big.NewRat(gpuSeconds, 3600).FloatString(2)
}
