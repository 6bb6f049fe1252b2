package sim

import (
	"math"
	"math/rand/v2"
	"time"
)

// Shape of a cluster and of the gangs that come to it.
type Shape struct {
	Nodes       int
	GPUsPerNode int64
	// For is how long gangs arrive. Load is the share of the GPUs that they would use, if all of them could.
	For  time.Duration
	Load float64
	// High is the share of gangs that may preempt others.
	High float64
	// Interval between saves, Save and Start of every gang; each has up to a fifth more or less.
	Interval, Save, Start time.Duration
	// Cooperation is the share of gangs that save on request, SaveAtEnd of those that save at SIGTERM.
	Cooperation, SaveAtEnd float64
	// Quotas of the queues, in GPUs; nil: none.
	Quotas []int64
	Faults Faults
}

// Values of the two classes.
const (
	Low  int32 = 0
	High int32 = 100
)

// Generate gangs for a shape. The same seed makes the same gangs.
func Generate(s Shape, seed uint64) []Job {
	r := rand.New(rand.NewPCG(seed, 1))
	capacity := float64(s.Nodes) * float64(s.GPUsPerNode) * s.Load * s.For.Seconds()
	var jobs []Job
	for used := 0.0; used < capacity; {
		j := Job{
			ID: len(jobs), Value: Low, Work: s.work(r), Listens: r.Float64() < s.Cooperation,
			SavesAtEnd: r.Float64() < s.SaveAtEnd, Arrives: time.Duration(r.Float64() * float64(s.For)),
			Interval: about(r, s.Interval), Save: about(r, s.Save), Start: about(r, s.Start),
		}
		if r.Float64() < s.High {
			j.Value = High
		}
		j.Ranks, j.GPUs = s.gang(r)
		jobs = append(jobs, j)
		used += float64(j.Total()) * j.Work.Seconds()
	}
	return jobs
}

// work is from a few minutes to two days, with a median of two hours.
func (s Shape) work(r *rand.Rand) time.Duration {
	const median, spread = 2 * time.Hour, 1.3
	t := time.Duration(float64(median) * math.Exp(spread*r.NormFloat64()))
	return min(max(t, 5*time.Minute), 48*time.Hour)
}

// gang has 1 to 64 GPUs: less than a node, or whole nodes, but no more than a quarter of the cluster.
func (s Shape) gang(r *rand.Rand) (ranks int, gpus int64) {
	const largest = 7
	total := int64(1) << r.IntN(largest)
	if total <= s.GPUsPerNode {
		return 1, total
	}
	return min(int(total/s.GPUsPerNode), max(1, s.Nodes/4)), s.GPUsPerNode
}

func about(r *rand.Rand, d time.Duration) time.Duration {
	const part = 0.2
	return time.Duration(float64(d) * (1 - part + 2*part*r.Float64()))
}
