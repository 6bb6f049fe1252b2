package config

import (
	"encoding/json"
	"math/big"
	"regexp"
	"strings"
)

// Amount is a decimal number as it was written: no binary fraction comes between the file and the bill.
type Amount string

// amounts have at most 9 digits before and 6 after the point.
var amounts = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})(\.[0-9]{1,6})?$`)

// UnmarshalJSON takes a number, quoted or not: YAML makes no difference that a user would see.
func (a *Amount) UnmarshalJSON(data []byte) error {
	var number json.Number // which takes both
	if err := json.Unmarshal(data, &number); err != nil {
		*a = Amount(strings.Trim(string(data), `"`)) // Validate says what is wrong with it, and where
		return nil
	}
	*a = Amount(number)
	return nil
}

// valid reports whether the text is a number within the bounds.
func (a Amount) valid() bool { return amounts.MatchString(string(a)) }

// Rat is the number, exactly. It is 0 for an amount that Validate refuses.
func (a Amount) Rat() *big.Rat {
	r, ok := new(big.Rat).SetString(string(a))
	if !ok || !a.valid() {
		return new(big.Rat)
	}
	return r
}
