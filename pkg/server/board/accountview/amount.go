package accountview

import (
	"math/big"
	"strings"
)

// amount is a decimal number as people read it.
type amount struct {
	// Text has two decimals, and its thousands apart. Exact is the number itself.
	Text, Exact string
}

// smallest amount that has a text of its own: below it, Text says that there is something.
var smallest = big.NewRat(1, 100)

// amountOf a decimal number of the API. What is no number stays as it is.
func amountOf(exact string) amount {
	n, ok := new(big.Rat).SetString(exact)
	if !ok {
		return amount{exact, exact}
	}
	if n.Sign() > 0 && n.Cmp(smallest) < 0 {
		return amount{"< 0.01", exact}
	}
	return amount{apart(n.FloatString(2)), exact}
}

// hoursOf seconds.
func hoursOf(seconds int64) amount {
	n := big.NewRat(seconds, 3600)
	a := amountOf(n.FloatString(4))
	if seconds > 0 && n.Cmp(smallest) < 0 {
		a.Text = "< 0.01"
	}
	return a
}

// apart puts commas between the thousands of a number, which may have decimals.
func apart(digits string) string {
	whole, decimals, has := strings.Cut(digits, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	var b strings.Builder
	b.WriteString(sign)
	for i, d := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	if has {
		b.WriteString("." + decimals)
	}
	return b.String()
}

// percent of a whole, as attributes of SVG have it.
func percent(part, whole int64) string {
	if whole <= 0 {
		return "0%"
	}
	return big.NewRat(100*part, whole).FloatString(2) + "%"
}

// shareOf a whole, for people.
func shareOf(part, whole int64) string {
	n := big.NewRat(100*part, whole)
	if n.Cmp(big.NewRat(1, 10)) < 0 {
		return "< 0.1%"
	}
	return n.FloatString(1) + "%"
}
