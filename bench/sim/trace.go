package sim

import (
	"math/rand/v2"
	"time"

	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// traceCompression keeps what workload reads of a trace within its bounds; times are played as they were.
const traceCompression = 60

// TraceOptions for workload.ReadTrace: so many rows from the first on, on a cluster of a shape.
func TraceOptions(s Shape, first, rows int) workload.TraceOptions {
	return workload.TraceOptions{
		Nodes: s.Nodes, GPUsPerNode: int(s.GPUsPerNode), Compress: traceCompression, First: first, Rows: rows,
	}
}

// Repeat the gangs of a trace until they have a shape's load: copies of it arrive in random phases of the
// shape's time, which wraps around; of the last one only a part does. Which gangs are of high value is drawn,
// since traces do not say it. When they save and start is the shape's. The load is what falls into that time:
// a trace has gangs that would take weeks. The same seed makes the same gangs.
func Repeat(w workload.Workload, s Shape, seed uint64) []Job {
	r := rand.New(rand.NewPCG(seed, 4))
	span := s.For
	for _, g := range w.Gangs {
		span = max(span, g.At*traceCompression+1)
	}
	capacity := float64(s.Nodes) * float64(s.GPUsPerNode) * s.Load * span.Seconds()
	var jobs []Job
	for used := 0.0; used < capacity; {
		phase := time.Duration(r.Float64() * float64(span))
		for _, i := range r.Perm(len(w.Gangs)) {
			g := w.Gangs[i]
			j := Job{
				ID: len(jobs), Value: Low, Ranks: g.Ranks, GPUs: int64(g.GPUs),
				Arrives: (g.At*traceCompression + phase) % span, Work: g.Train * traceCompression,
				Listens: r.Float64() < s.Cooperation, SavesAtEnd: r.Float64() < s.SaveAtEnd,
				Interval: about(r, s.Interval), Save: about(r, s.Save), Start: about(r, s.Start),
			}
			if r.Float64() < s.High {
				j.Value = High
			}
			jobs = append(jobs, j)
			within := min(j.Work, span-j.Arrives)
			if used += float64(j.Total()) * within.Seconds(); used >= capacity {
				break
			}
		}
	}
	return jobs
}

// Philly draws gangs of the sizes, durations and gaps of Microsoft's Philly trace (see bench/workload), none
// longer than a time. The same seed makes the same gangs.
func Philly(gangs int, longest time.Duration, s Shape, seed uint64) []Job {
	return Replay(workload.Philly(gangs, traceCompression, longest, seed), s)
}

// Replay the gangs of a trace once, at the times that it has. When they save and start is the shape's.
func Replay(w workload.Workload, s Shape) []Job {
	var jobs []Job
	for _, g := range w.Gangs {
		jobs = append(jobs, Job{
			ID: len(jobs), Value: Low, Ranks: g.Ranks, GPUs: int64(g.GPUs), Arrives: g.At * traceCompression,
			Work: g.Train * traceCompression, Interval: s.Interval, Save: s.Save, Start: s.Start,
		})
	}
	return jobs
}

// Offered is the mean number of GPUs that gangs would use if each started at once, and how long they arrive.
func Offered(jobs []Job) (gpus float64, span time.Duration) {
	var sum float64
	for i := range jobs {
		span = max(span, jobs[i].Arrives)
		sum += float64(jobs[i].Total()) * jobs[i].Work.Seconds()
	}
	return sum / max(1, span.Seconds()), span
}
