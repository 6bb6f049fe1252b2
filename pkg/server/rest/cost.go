package rest

import (
	"math/big"
	"slices"

	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

// Digits behind the point, to which a half is rounded up.
const (
	costDigits = 6
	hourDigits = 4
)

// cost is exact until it is said.
type cost struct {
	sum big.Rat
	// unpriced are the kinds of GPU without a price that were used.
	unpriced []string
}

// add what a use of GPUs cost.
func (c *cost) add(u *store.Usage, prices map[string]*big.Rat) {
	if u.GPUSeconds == 0 {
		return
	}
	price, known := prices[u.GPUKind]
	if !known {
		if !slices.Contains(c.unpriced, u.GPUKind) {
			c.unpriced = append(c.unpriced, u.GPUKind)
			slices.Sort(c.unpriced)
		}
		return
	}
	hours := big.NewRat(u.GPUSeconds, 3600)
	c.sum.Add(&c.sum, hours.Mul(hours, price))
}

func (c *cost) join(o *cost) {
	c.sum.Add(&c.sum, &o.sum)
	c.unpriced = slices.Concat(c.unpriced, o.unpriced)
	slices.Sort(c.unpriced)
	c.unpriced = slices.Compact(c.unpriced)
}

// said is the cost as a decimal number; nil where a part of it is unknown.
func (c *cost) said() *string {
	if len(c.unpriced) > 0 {
		return nil
	}
	return new(c.sum.FloatString(costDigits))
}

func hours(seconds int64) string { return big.NewRat(seconds, 3600).FloatString(hourDigits) }
