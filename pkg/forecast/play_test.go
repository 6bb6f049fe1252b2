package forecast

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// in is a time after the start.
func in(h float64) time.Time { return start.Add(time.Duration(h * float64(time.Hour))) }

func TestForecast(t *testing.T) {
	foreign := running("secret", endless, 0)
	foreign.Namespace = "other"
	strict := full(2, running("runs", sure(2), 0), waiting("large", 9, sure(1), 2),
		waiting("small", 1, sure(1), 1))
	strict.Nodes[1], strict.Lanes[0].Strict = gpus(8), true
	quota := full(2, running("runs", sure(3), 0), waiting("waits", 1, sure(1), 1))
	quota.Nodes[1] = gpus(8)
	quota.Quotas = []Quota{{Name: "research", Limited: [MaxResources]bool{true}}}
	quota.Gangs[0].Uses = []Use{{0, gpus(8)}}
	quota.Gangs[1].Uses = []Use{{0, gpus(8)}}
	decided := full(1, running("runs", sure(1), 0), waiting("waits", 1, sure(1), 1))
	decided.Gangs[1].Unknown = SchedulerDecides
	for name, tc := range map[string]struct {
		reason string
		s      *Snapshot
		limits Limits
		want   []Start
	}{
		"ends": {
			reason: "it starts once what it needs has ended, and runs for its own length",
			s: full(2, running("long", sure(3), 0), running("short", sure(1), 1),
				waiting("waits", 1, sure(2), 2)),
			want: []Start{{
				Gang: 2, Position: 1, Time: in(3), End: in(5),
				Behind: []Behind{
					{What: Ends, Name: "short", Time: in(1), GPUs: 8, Basis: BasisSteps},
					{What: Ends, Name: "long", Time: in(3), GPUs: 8, Basis: BasisSteps},
				},
			}},
		},
		"order": {
			reason: "the older gang goes first, and its own run delays the next",
			s: full(1, running("runs", sure(1), 0), waiting("young", 1, sure(1), 1),
				waiting("old", 9, sure(2), 1)),
			want: []Start{
				{
					Gang: 2, Position: 1, Time: in(1), End: in(3),
					Behind: []Behind{{What: Ends, Name: "runs", Time: in(1), GPUs: 8, Basis: BasisSteps}},
				}, {
					Gang: 1, Position: 2, Time: in(3), End: in(4),
					Behind: []Behind{
						{What: GoesFirst, Name: "old", Time: in(1), GPUs: 8},
						{What: Ends, Name: "old", Time: in(3), GPUs: 8, Basis: BasisSteps},
					},
				},
			},
		},
		"strict": {
			reason: "a strict queue stops at its first gang although the next would fit now",
			s:      strict,
			want: []Start{
				{
					Gang: 1, Position: 1, Time: in(2), End: in(3),
					Behind: []Behind{{What: Ends, Name: "runs", Time: in(2), GPUs: 8, Basis: BasisSteps}},
				}, {
					Gang: 2, Position: 2, Time: in(3), End: in(4),
					Behind: []Behind{
						{What: GoesFirst, Name: "large", Time: in(2), GPUs: 16},
						{What: Ends, Name: "large", Time: in(3), GPUs: 16, Basis: BasisSteps},
					},
				},
			},
		},
		"no end": {
			reason: "it needs the nodes of a gang without an end: no time, and no name of another namespace",
			s:      full(2, foreign, running("long", hours(3), 1), waiting("waits", 1, hours(1), 2)),
			want: []Start{{
				Gang: 2, Position: 1, Unknown: NoEndKnown, Earliest: in(2.7),
				Behind: []Behind{{What: Ends, GPUs: 8, Missing: MissingReports}},
			}},
		},
		"endless gang goes first": {
			reason: "the gang that goes first has no known length, and takes the only node",
			s: full(1, running("runs", sure(1), 0), waiting("old", 9, Length{Missing: MissingHint}, 1),
				waiting("young", 1, sure(1), 1)),
			want: []Start{
				{
					Gang: 1, Position: 1, Time: in(1),
					Behind: []Behind{{What: Ends, Name: "runs", Time: in(1), GPUs: 8, Basis: BasisSteps}},
				}, {
					Gang: 2, Position: 2, Unknown: NoEndKnown, Earliest: in(1),
					Behind: []Behind{{What: GoesFirst, Name: "old", Time: in(1), GPUs: 8}},
				},
			},
		},
		"foreign pods": {
			reason: "no gang holds the node that it needs",
			s:      full(1, waiting("waits", 1, sure(1), 1)),
			want:   []Start{{Gang: 0, Position: 1, Unknown: NoEndKnown, Behind: []Behind{{What: RoomFree}}}},
		},
		"quota": {
			reason: "a node is free, but its queue's quota is not",
			s:      quota,
			want: []Start{{
				Gang: 1, Position: 1, Time: in(3), End: in(4),
				Behind: []Behind{
					{What: QuotaFree, Name: "research"},
					{What: Ends, Name: "runs", Time: in(3), GPUs: 8, Basis: BasisSteps},
				},
			}},
		},
		"too far": {
			reason: "the play stops at the horizon",
			s:      full(1, running("runs", sure(3), 0), waiting("waits", 1, sure(1), 1)),
			limits: Limits{Horizon: time.Hour, Considered: 9},
			want:   []Start{{Gang: 1, Position: 1, Unknown: TooFarAhead}},
		},
		"not considered": {
			reason: "only so many gangs get a time",
			s:      full(1, running("runs", sure(3), 0), waiting("a", 9, sure(1), 1), waiting("b", 1, sure(1), 1)),
			limits: Limits{Horizon: 9 * time.Hour, Considered: 1},
			want: []Start{
				{
					Gang: 1, Position: 1, Time: in(3), End: in(4),
					Behind: []Behind{{What: Ends, Name: "runs", Time: in(3), GPUs: 8, Basis: BasisSteps}},
				},
				{Gang: 2, Unknown: TooFarAhead},
			},
		},
		"scheduler decides": {
			reason: "the caller knows that no play can tell",
			s:      decided,
			want:   []Start{{Gang: 1, Position: 1, Unknown: SchedulerDecides}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.limits == (Limits{}) {
				tc.limits = limits
			}
			for i := range tc.want {
				if s := &tc.want[i]; !s.Time.IsZero() { // all lengths are sure
					s.Earliest, s.Latest, s.Hits = s.Time, s.Time.Add(resolution), Hits{40, 40}
					s.Given = &Interval{Earliest: s.Earliest, Time: s.Time, Latest: s.Latest}
				}
			}
			if diff := cmp.Diff(tc.want, Forecast(tc.s, tc.limits)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestForecastIgnoresGangsOfTooManyShapes bounds the memory of a play.
func TestForecastIgnoresGangsOfTooManyShapes(t *testing.T) {
	s := full(1, running("runs", hours(1), 0))
	for i := range maxShapes + 1 {
		g := waiting(fmt.Sprintf("g%04d", i), 2000-i, hours(1), 1)
		g.Needs[0].Requests[1] = int64(i)
		s.Gangs = append(s.Gangs, g)
	}
	starts := Forecast(s, Limits{Horizon: time.Hour, Considered: 10_000})
	last := starts[maxShapes]
	if last.Unknown != TooFarAhead || starts[maxShapes-1].Position != maxShapes {
		t.Errorf("the gang of the last shape: %+v, want %s; the one before: %+v", last, TooFarAhead,
			starts[maxShapes-1])
	}
}
