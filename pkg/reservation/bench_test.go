package reservation

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// BenchmarkPass: a gang of half the nodes waits on a full cluster of 1,000 nodes with 1,000 gangs, and many
// gangs of 20 shapes after it. The target for 1,000 waiting gangs is 5 ms.
func BenchmarkPass(b *testing.B) {
	for _, waiting := range []int{1, 1000, 10_000} {
		b.Run(fmt.Sprint(waiting, " waiting"), func(b *testing.B) {
			s := crowded(rand.New(rand.NewPCG(5, 6)), 1000, waiting)
			for b.Loop() {
				if r := policy.Pass(s); len(r.Reservations) != 1 || len(r.Held) != waiting-1 {
					b.Fatal(len(r.Reservations), len(r.Held))
				}
			}
		})
	}
}

// crowded returns a full cluster of gangs with a node each, of which half have a known end.
func crowded(r *rand.Rand, gangs, waiting int) Snapshot {
	s := cluster(make([]int64, gangs)...)
	for i := range gangs {
		s.runs(fmt.Sprint("gang-", i), time.Duration(i%2)*time.Duration(1+r.IntN(1000))*time.Minute, i)
	}
	head := s.waits("head", int64(gangs/2)).reserves()
	first := policy.Pass(s)
	head.Reservation = first.Reservations[head.Ref]
	shapes := make([]*Waiting, 20)
	for i := range waiting - 1 {
		nth := i % len(shapes)
		if shapes[nth] == nil {
			shapes[nth] = s.waits("", int64(1+nth))
			s.Waiting = s.Waiting[:len(s.Waiting)-1]
		}
		g := *shapes[nth]
		g.Ref = ref(fmt.Sprint("waiting-", i))
		s.Waiting = append(s.Waiting, g)
	}
	return s
}
