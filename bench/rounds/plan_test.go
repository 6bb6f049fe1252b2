package rounds

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlan(t *testing.T) {
	cases := map[string]struct {
		reason           string
		n, rounds, twice int
		want             []Turn
	}{
		"there and back": {"neither end of the order is favored", 3, 2, -1, []Turn{
			{1, 0, 0}, {1, 1, 0}, {1, 2, 0}, {2, 2, 0}, {2, 1, 0}, {2, 0, 0},
		}},
		"the floor twice": {"the last turn of a round shows what has changed since", 2, 2, 0, []Turn{
			{1, 0, 0}, {1, 1, 0}, {1, 0, 1}, {2, 1, 0}, {2, 0, 0}, {2, 0, 1},
		}},
		"nothing": {"", 0, 3, -1, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Plan(c.n, c.rounds, c.twice)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
