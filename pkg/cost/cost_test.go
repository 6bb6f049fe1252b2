package cost

import (
	"math/big"
	"slices"
	"testing"
)

var prices = map[string]*big.Rat{"A": big.NewRat(1, 3), "free": new(big.Rat)}

// TestCostIsExactUntilAmount: three thirds are 1, not 0.999999.
func TestCostIsExactUntilAmount(t *testing.T) {
	var c Cost
	for range 3 {
		var part Cost
		part.Add(3600, "A", prices)
		c.Join(&part)
	}
	c.Add(7200, "free", prices)
	if got := c.Amount(); got == nil || *got != "1.000000" {
		t.Errorf("three hours at a third cost %v", got)
	}
}

// TestUnpricedUseIsUnknown: the cost is unknown in whatever order the parts are joined.
func TestUnpricedUseIsUnknown(t *testing.T) {
	var c, o Cost
	c.Add(1, "A", prices)
	c.Add(0, "unused", prices)
	c.Add(1, "new", prices)
	o.Add(1, "old", prices)
	o.Add(1, "new", prices)
	c.Join(&o)
	if got := c.Amount(); got != nil {
		t.Errorf("the cost is %s", *got)
	}
	if want := []string{"new", "old"}; !slices.Equal(want, c.Unpriced()) {
		t.Errorf("%q have no price, want %q", c.Unpriced(), want)
	}
}

func TestHours(t *testing.T) {
	for seconds, want := range map[int64]string{0: "0.0000", 1: "0.0003", 5400: "1.5000"} {
		if got := Hours(seconds); got != want {
			t.Errorf("%d s are %s h, want %s", seconds, got, want)
		}
	}
}
