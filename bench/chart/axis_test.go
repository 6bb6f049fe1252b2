package chart

import (
	"strings"
	"testing"

	"gonum.org/v1/plot"
)

func TestTicks(t *testing.T) {
	for name, tc := range map[string]struct {
		reason    string
		ticks     plot.Ticker
		low, high float64
		want      string
	}{
		"round":    {"multiples of 20", RoundTicks(6), 0, 105, "0 20 40 60 80 100"},
		"few":      {"multiples of 50", RoundTicks(4), 0, 105, "0 50 100"},
		"small":    {"multiples of a tenth", RoundTicks(6), 0, 0.5, "0 0.1 0.2 0.3 0.4 0.5"},
		"negative": {"not -0", RoundTicks(6), -0.6, 3, "0 1 2 3"},
		"nothing":  {"no range", RoundTicks(6), 3, 3, ""},
		"log":      {"1, 2 and 5", LogTicks{}, 1, 60, "1 2 5 10 20 50"},
		"long log": {"1 alone has a label", LogTicks{}, 1, 2000, "1   10   100   1000 "},
	} {
		var labels []string
		for _, tick := range tc.ticks.Ticks(tc.low, tc.high) {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != tc.want {
			t.Errorf("%s: %q, want %q: %s", name, got, tc.want, tc.reason)
		}
	}
}
