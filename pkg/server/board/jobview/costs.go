package jobview

import (
	"maps"
	"math/big"
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/cost"
)

// costStep is how often a growing cost is updated.
const costStep = 10 * time.Second

// Cost so far.
type Cost struct {
	Rows  []CostRow // by kind of GPU
	Total CostRow
	// Lost is the part of the total for steps that must be trained twice.
	Lost CostRow
	// Priced reports whether prices are configured.
	Priced bool
	// Until is the end of the counted time of a growing cost; nil: the cost is final as far as is known.
	Until *time.Time
	// Notes about assumptions and unknown amounts.
	Notes []string
}

// CostRow is the cost of one kind of GPU.
type CostRow struct {
	Kind     string
	GPUHours string
	Price    string // of a GPU-hour
	Cost     string // with its currency, or unknown
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

// lostRow is the loss counted by the operator. Its cost is known if the kind of GPU is: from the ends of
// attempts in the record, or since there was only one kind.
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

// costNotes about attempts with assumed GPUs, runs with unknown ends, and unknown attempts.
func costNotes(assumed, ends, lacking int64) []string {
	var notes []string
	if lacking > 0 {
		notes = append(notes, count(lacking, "attempt")+" unknown to the history: not counted.")
	}
	if assumed > 0 {
		notes = append(notes, count(assumed, "attempt")+
			" without a recorded run: the cost assumes the GPUs of the next one.")
	}
	if ends > 0 {
		notes = append(notes, count(ends, "run")+" with an unknown end: not counted.")
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

// money in words: with two decimals, or exactly if that would round it to zero.
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
