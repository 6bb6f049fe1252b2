package rounds

import (
	"fmt"
	"strings"
	"testing"

	"mlplatform.example.com/trainingjob-operator/bench/result"
)

func TestPlan(t *testing.T) {
	cases := map[string]struct {
		reason string
		// stacks as "name<floor", the floor themselves without one.
		stacks string
		rounds int
		// want names with the round before and, for a second turn, an apostrophe behind them.
		want string
	}{
		"there and back": {"neither end of the order is favored", "a<x b<x c<x", 2, "1a 1b 1c 2c 2b 2a"},
		"the floor twice": {
			"its two turns are as far apart as any two that are compared", "raw ours<raw peer<raw", 2,
			"1raw 1ours 1peer 1raw' 2raw' 2peer 2ours 2raw",
		},
		"several floors": {
			"a stack is played near its floor, which comes first", "r1 o2<r2 r2 o1<r1 p1<r1", 1,
			"1r1 1o1 1p1 1r1' 1r2 1o2",
		},
		"a floor that is not played": {"nothing is left out", "o1<r1 r2 o2<r2", 1, "1o1 1r2 1o2 1r2'"},
		"nothing":                    {"", "", 3, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var stacks []result.Stack
			for _, word := range strings.Fields(c.stacks) {
				name, floor, found := strings.Cut(word, "<")
				if !found {
					floor = name
				}
				stacks = append(stacks, result.Stack{Name: name, Floor: floor})
			}
			var got []string
			for _, turn := range Plan(stacks, c.rounds) {
				got = append(got, fmt.Sprint(turn.Round, stacks[turn.Stack].Name, strings.Repeat("'", turn.Repeat)))
			}
			if got := strings.Join(got, " "); got != c.want {
				t.Errorf("%s: got %s, want %s", c.reason, got, c.want)
			}
		})
	}
}
