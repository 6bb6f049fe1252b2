// Package cost answers one question: what does the use of GPUs cost?
//
// The API's accounting and the board use the same code. Sums are exact and rounded only at the end.
// A kind of GPU without a price makes a cost unknown, never lower.
package cost

import (
	"math/big"
	"slices"
)

// Digits after the decimal point; a half is rounded up.
const (
	digits     = 6
	hourDigits = 4
)

// Cost is an exact sum. The zero value is 0.
type Cost struct {
	sum      big.Rat
	unpriced []string
}

// Add adds the cost of GPU-seconds of one kind of GPU. prices are per GPU-hour, by kind.
func (c *Cost) Add(gpuSeconds int64, kind string, prices map[string]*big.Rat) {
	if gpuSeconds == 0 {
		return
	}
	price, known := prices[kind]
	if !known {
		if !slices.Contains(c.unpriced, kind) {
			c.unpriced = append(c.unpriced, kind)
			slices.Sort(c.unpriced)
		}
		return
	}
	hours := big.NewRat(gpuSeconds, 3600)
	c.sum.Add(&c.sum, hours.Mul(hours, price))
}

// Join adds another cost.
func (c *Cost) Join(o *Cost) {
	c.sum.Add(&c.sum, &o.sum)
	c.unpriced = slices.Concat(c.unpriced, o.unpriced)
	slices.Sort(c.unpriced)
	c.unpriced = slices.Compact(c.unpriced)
}

// Amount returns the cost as a decimal number with 6 digits after the point, or nil if a part of it is
// unknown.
func (c *Cost) Amount() *string {
	if len(c.unpriced) > 0 {
		return nil
	}
	return new(c.sum.FloatString(digits))
}

// Unpriced returns the used kinds of GPU that have no price, sorted.
func (c *Cost) Unpriced() []string { return c.unpriced }

// Hours returns seconds as a decimal number of hours, with 4 digits after the point.
func Hours(seconds int64) string { return big.NewRat(seconds, 3600).FloatString(hourDigits) }
