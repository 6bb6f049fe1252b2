package forecast

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// large is a full cluster of 1,000 nodes of 8 GPUs, with 10,000 waiting gangs.
func large(shapes int) *Snapshot {
	r := rand.New(rand.NewPCG(1, 2))
	s := full(1000)
	for i := range int32(len(s.Nodes)) {
		s.Gangs = append(s.Gangs, running(fmt.Sprintf("r%d", i), hours(r.Float64()*24), i))
	}
	for i := range 10_000 {
		g := waiting(fmt.Sprintf("w%d", i), r.IntN(10_000), hours(r.Float64()*24), 1+r.Int64N(16))
		n := 1 + i%shapes
		g.Needs[0].Requests = Amounts{1 << (n % 4), int64(n)}
		s.Gangs = append(s.Gangs, g)
	}
	for i := range s.Nodes {
		s.Nodes[i][1] = 4096
	}
	return s
}

// BenchmarkForecast makes MinSamples plays and two more each time. Those that start all gangs are the longest
// possible.
func BenchmarkForecast(b *testing.B) {
	for _, considered := range []int{256, 10_000} {
		for _, shapes := range []int{10, 200} {
			s := large(shapes)
			b.Run(fmt.Sprintf("considered=%d/shapes=%d", considered, shapes), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					Forecast(s, Limits{Horizon: 10_000 * time.Hour, Considered: considered, Samples: MinSamples})
				}
			})
		}
	}
}
