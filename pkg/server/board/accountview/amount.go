package accountview

import (
	"math/big"
	"strings"
)

// amount is a decimal number for display.
type amount struct {
	// Text has two decimals and thousands separators. Exact is the number itself.
	Text, Exact string
}

// smallest amount with its own text: a smaller one is shown as less than it.
var smallest = big.NewRat(1, 100)

// amountOf formats a decimal number of the API. Other text stays unchanged.
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

// hoursOf formats seconds as hours.
func hoursOf(seconds int64) amount {
	n := big.NewRat(seconds, 3600)
	a := amountOf(n.FloatString(4))
	if seconds > 0 && n.Cmp(smallest) < 0 {
		a.Text = "< 0.01"
	}
	return a
}

// apart puts commas between the thousands of a number, which can have decimals.
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

// percent of a total, for attributes of SVG.
func percent(part, whole int64) string {
	if whole <= 0 {
		return "0%"
	}
	return big.NewRat(100*part, whole).FloatString(2) + "%"
}

// shareOf a total, for display.
func shareOf(part, whole int64) string {
	n := big.NewRat(100*part, whole)
	if n.Cmp(big.NewRat(1, 10)) < 0 {
		return "< 0.1%"
	}
	return n.FloatString(1) + "%"
}
