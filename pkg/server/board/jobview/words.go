package jobview

import (
	"cmp"
	"fmt"
	"strconv"
	"time"
)

const unknown = "unknown"

// duration in its two largest units.
func duration(d time.Duration) string {
	d = max(0, d.Truncate(time.Second))
	days, hours := d/(24*time.Hour), d%(24*time.Hour)/time.Hour
	minutes, seconds := d%time.Hour/time.Minute, d%time.Minute/time.Second
	switch {
	case days > 0:
		return units(days, "d", hours, "h")
	case hours > 0:
		return units(hours, "h", minutes, "min")
	case minutes > 0:
		return units(minutes, "min", seconds, "s")
	}
	return fmt.Sprintf("%d s", seconds)
}

func units(large time.Duration, its string, small time.Duration, other string) string {
	if small == 0 {
		return fmt.Sprintf("%d %s", large, its)
	}
	return fmt.Sprintf("%d %s %d %s", large, its, small, other)
}

func seconds(n int64) string { return duration(time.Duration(n) * time.Second) }

// between two times, each of which can be unknown.
func between(from, to *time.Time) string {
	if from == nil || to == nil {
		return unknown
	}
	return duration(to.Sub(*from))
}

// known is a text, or unknown if empty.
func known(s string) string { return cmp.Or(s, unknown) }

// count with a noun, for example "1 rank" and "2 ranks".
func count[N int | int32 | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return number(int64(n)) + " " + thing + "s"
}

// number with narrow spaces between groups of three digits, from five digits on.
func number(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "−", s[1:]
	}
	if len(s) < 5 {
		return sign + s
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "\u202F" + s[i:]
	}
	return sign + s
}

// moment is a time in words, in UTC.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" }
