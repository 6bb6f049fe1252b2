package stats

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var never = math.Inf(1)

func exactly(values ...float64) []Bounds {
	var b []Bounds
	for _, v := range values {
		b = append(b, Exactly(v))
	}
	return b
}

func TestOver(t *testing.T) {
	for name, tc := range map[string]struct {
		reason      string
		value, base Bounds
		want        Bounds
	}{
		"both ended":   {"a ratio is known", Exactly(30), Exactly(20), Exactly(1.5)},
		"value cut":    {"it would have taken longer", AtLeast(180), Exactly(20), AtLeast(9)},
		"base cut":     {"the base would have taken longer", Exactly(20), AtLeast(200), Bounds{0, 0.1}},
		"both cut":     {"nothing is known of the ratio", AtLeast(180), AtLeast(180), Unknown()},
		"base is zero": {"no division by zero", Exactly(20), Exactly(0), Unknown()},
		"base unknown": {"no ratio to what is not known", Exactly(20), Unknown(), Unknown()},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.value.Over(tc.base)); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
		})
	}
}

func TestBoundsSayWhatIsKnown(t *testing.T) {
	for name, tc := range map[string]struct {
		reason       string
		b            Bounds
		known, exact bool
	}{
		"zero":    {"zero was measured", Exactly(0), true, true},
		"cut":     {"a lower bound is something", AtLeast(180), true, false},
		"at most": {"so is an upper bound", Bounds{0, 2}, true, false},
		"unknown": {"nothing is known", Unknown(), false, false},
	} {
		if got := [2]bool{tc.b.Known(), tc.b.Exact()}; got != [2]bool{tc.known, tc.exact} {
			t.Errorf("%s: known and exact %v, want %v %v: %s", name, got, tc.known, tc.exact, tc.reason)
		}
	}
}

func TestMedianAndQuantile(t *testing.T) {
	hundred := make([]Bounds, 100)
	for i := range hundred {
		hundred[i] = Exactly(float64(100 - i))
	}
	late := append(append([]Bounds{}, hundred[2:]...), AtLeast(50), AtLeast(60))
	for name, tc := range map[string]struct {
		reason    string
		got, want Bounds
	}{
		"odd":  {"the middle one", Median(exactly(3, 1, 2)), Exactly(2)},
		"even": {"the mean of the middle two", Median(exactly(4, 1, 2, 3)), Exactly(2.5)},
		"none": {"no values, no median", Median(nil), Unknown()},
		"one cut": {
			"it is above the middle",
			Median([]Bounds{AtLeast(9), Exactly(1), Exactly(2)}), Exactly(2),
		},
		"most cut": {"the median is cut", Median([]Bounds{AtLeast(9), Exactly(1), AtLeast(8)}), AtLeast(8)},
		"cut early": {
			"it may be on either side",
			Median([]Bounds{AtLeast(1), Exactly(2), Exactly(3)}), Bounds{2, 3},
		},
		"p50":            {"the 50th of 100", Quantile(0.5, hundred), Exactly(50)},
		"p99":            {"the 99th of 100", Quantile(0.99, hundred), Exactly(99)},
		"p100":           {"the largest", Quantile(1, hundred), Exactly(100)},
		"p99 with never": {"the 99th never came", Quantile(0.99, late), Bounds{97, never}},
		"p50 with never": {"never is above, its bounds are not", Quantile(0.5, late), Bounds{50, 50}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		ratios []Bounds
		want   Comparison
	}{
		"none":  {"no pairs", nil, Comparison{0, Unknown(), Unknown()}},
		"two":   {"too few for an interval", exactly(1, 2), Comparison{2, Exactly(1.5), Unknown()}},
		"three": {"min to max", exactly(1.2, 1.4, 1.3), Comparison{3, Exactly(1.3), Bounds{1.2, 1.4}}},
		"five":  {"min to max", exactly(1, 2, 3, 4, 5), Comparison{5, Exactly(3), Bounds{1, 5}}},
		"seven": {"second to sixth", exactly(1, 2, 3, 4, 5, 6, 7), Comparison{7, Exactly(4), Bounds{2, 6}}},
		"all cut": {
			"only below",
			[]Bounds{AtLeast(9), AtLeast(8), AtLeast(10)}, Comparison{3, AtLeast(9), AtLeast(8)},
		},
		"base cut": {
			"only above",
			[]Bounds{{0, 0.2}, {0, 0.3}, {0, 0.1}}, Comparison{3, Bounds{0, 0.2}, Bounds{0, 0.3}},
		},
		"one cut":      {"no upper end", append(exactly(2, 3), AtLeast(9)), Comparison{3, Exactly(3), AtLeast(2)}},
		"one unknown":  {"it is no pair", append(exactly(2, 3), Unknown()), Comparison{2, Exactly(2.5), Unknown()}},
		"all the same": {"no noise", exactly(2, 2, 2), Comparison{3, Exactly(2), Exactly(2)}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Compare(tc.ratios)); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
		})
	}
}

func TestClaim(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		c      Comparison
		noise  Noise
		want   Claim
	}{
		"no pair":   {"nothing to say", Comparison{}, Noise{}, NoRatio},
		"two pairs": {"however far apart", Comparison{N: 2, Median: Exactly(9)}, Noise{}, TooFewPairs},
		"slower":    {"above 1", Comparison{N: 3, Interval: Bounds{1.01, 1.3}}, Noise{}, Slower},
		"faster":    {"below 1", Comparison{N: 3, Interval: Bounds{0.8, 0.99}}, Noise{}, Faster},
		"touches 1": {"1 is not excluded", Comparison{N: 3, Interval: Bounds{1, 1.3}}, Noise{}, NoDifference},
		"around 1":  {"1 is inside", Comparison{N: 3, Interval: Bounds{0.9, 1.3}}, Noise{}, NoDifference},
		"slower in noise": {
			"A/A differ as much",
			Comparison{N: 3, Interval: Bounds{1.04, 1.3}}, Noise{1.05, 3}, WithinNoise,
		},
		"faster in noise": {
			"A/A differ as much",
			Comparison{N: 3, Interval: Bounds{0.8, 0.96}}, Noise{1.05, 3}, WithinNoise,
		},
		"beyond noise": {
			"A/A differ by less",
			Comparison{N: 3, Interval: Bounds{1.06, 1.3}}, Noise{1.05, 3}, Slower,
		},
		"cut": {
			"a loss, whatever its end",
			Comparison{N: 3, Interval: AtLeast(8)}, Noise{1.05, 3}, Slower,
		},
		"base cut": {
			"a win, whatever its end",
			Comparison{N: 3, Interval: Bounds{0, 0.3}}, Noise{1.05, 3}, Faster,
		},
		"endless noise": {
			"an A/A run was cut",
			Comparison{N: 3, Interval: AtLeast(8)}, Noise{never, 3}, WithinNoise,
		},
	} {
		if got := tc.c.Claim(tc.noise); got != tc.want {
			t.Errorf("%s: %s, want %s: %s", name, got, tc.want, tc.reason)
		}
	}
}

func TestNoiseFloor(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		got    Noise
		want   Noise
	}{
		"none":  {"no A/A runs, no floor", NoiseFloor(nil), Noise{}},
		"one":   {"the pair itself", NoiseFloor(exactly(1.25)), Noise{1.25, 1}},
		"two":   {"the furthest", NoiseFloor(exactly(0.5, 1.25)), Noise{2, 2}},
		"three": {"the interval", NoiseFloor(exactly(0.8, 1.01, 1.1)), Noise{1.25, 3}},
		"seven": {
			"the ends are not in the interval",
			NoiseFloor(exactly(0.1, 1, 1, 1, 1, 1.1, 9)), Noise{1.1, 7},
		},
		"once cut":  {"no bound of the noise is known", NoiseFloor([]Bounds{AtLeast(3)}), Noise{never, 1}},
		"both cut":  {"nothing is known", NoiseFloor([]Bounds{Unknown()}), Noise{}},
		"of stacks": {"the widest holds", Widest(Noise{1.1, 3}, Noise{1.3, 2}, Noise{1.2, 3}), Noise{1.3, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
		})
	}
}

func TestDrifted(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		raw    map[int]Bounds
		want   []int
	}{
		"none":   {"no raw runs", nil, nil},
		"one":    {"it is its own median", map[int]Bounds{1: Exactly(20)}, nil},
		"within": {"10% is allowed", map[int]Bounds{1: Exactly(90), 2: Exactly(100), 3: Exactly(110)}, nil},
		"slow": {
			"more than 10%",
			map[int]Bounds{1: Exactly(99), 2: Exactly(100), 3: Exactly(111)}, []int{3},
		},
		"fast and one": {
			"both ways",
			map[int]Bounds{4: Exactly(89), 2: Exactly(100), 1: Exactly(111)}, []int{1, 4},
		},
		"cut": {
			"for ever is more",
			map[int]Bounds{1: AtLeast(100), 2: Exactly(100), 3: Exactly(101)}, []int{1},
		},
		"mostly cut": {
			"the one that ended is odd",
			map[int]Bounds{1: AtLeast(9), 2: AtLeast(9), 3: Exactly(9)}, []int{3},
		},
		"all cut": {"the same every time", map[int]Bounds{1: AtLeast(9), 2: AtLeast(9)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Drifted(tc.raw)); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
		})
	}
	even := map[int]Bounds{1: Exactly(10), 2: Exactly(10), 3: Exactly(10)}
	once := map[int]Bounds{1: Exactly(10), 2: Exactly(10), 3: Exactly(16)}
	if got := Drifted(even, once, even); got != nil {
		t.Errorf("one workload of three went another way in a round: %v", got)
	}
	if got := Drifted(once, even, once); !cmp.Equal(got, []int{3}) {
		t.Errorf("two workloads of three took longer in round 3: %v", got)
	}
}
