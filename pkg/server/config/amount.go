package config

import (
	"encoding/json"
	"math/big"
	"regexp"
	"strings"
)

// Amount is a decimal number as written, which avoids binary fractions.
type Amount string

// amounts have at most 9 digits before and 6 after the point.
var amounts = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})(\.[0-9]{1,6})?$`)

// UnmarshalJSON accepts a number with or without quotes, as YAML users expect.
func (a *Amount) UnmarshalJSON(data []byte) error {
	var number json.Number // accepts both
	if err := json.Unmarshal(data, &number); err != nil {
		*a = Amount(strings.Trim(string(data), `"`)) // Validate reports errors with the field
		return nil
	}
	*a = Amount(number)
	return nil
}

// valid reports whether the text is a number within the limits.
func (a Amount) valid() bool { return amounts.MatchString(string(a)) }

// Rat returns the exact number. It is 0 for an amount that Validate rejects.
func (a Amount) Rat() *big.Rat {
	r, ok := new(big.Rat).SetString(string(a))
	if !ok || !a.valid() {
		return new(big.Rat)
	}
	return r
}
