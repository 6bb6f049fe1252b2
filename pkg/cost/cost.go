// Package cost answers one question: what does the use of GPUs cost?
//
// The API's accounting and the pages of the board sum it up with the same code, exactly, and round at the end
// alone. A kind of GPU without a price makes a cost unknown, never lower.
package cost

import (
	"math/big"
	"slices"
)

// Digits behind the point of what is said, to which a half is rounded up.
const (
	digits     = 6
	hourDigits = 4
)

// Cost is exact until it is said. The zero one is of nothing.
type Cost struct {
	sum      big.Rat
	unpriced []string
}

// Add what the use of GPUs of a kind cost, for so many GPU-seconds. prices are of one GPU of a kind for an
// hour.
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

// Amount is the cost as a decimal number of 6 digits behind the point; nil where a part of it is unknown.
func (c *Cost) Amount() *string {
	if len(c.unpriced) > 0 {
		return nil
	}
	return new(c.sum.FloatString(digits))
}

// Unpriced are the kinds of GPU without a price that were used, sorted.
func (c *Cost) Unpriced() []string { return c.unpriced }

// Hours are seconds as a decimal number of hours, of 4 digits behind the point.
func Hours(seconds int64) string { return big.NewRat(seconds, 3600).FloatString(hourDigits) }
