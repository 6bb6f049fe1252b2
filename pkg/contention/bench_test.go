package contention

import (
	"fmt"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// BenchmarkReserve: on 1,000 full nodes a gang with a reservation of half of them waits, and many gangs of 20
// shapes that came later. The planner makes a pass each second, and spends at most a twentieth of its time on
// passes.
func BenchmarkReserve(b *testing.B) {
	for _, waiting := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(waiting, " waiting"), func(b *testing.B) {
			c := crowded(1000, waiting)
			for b.Loop() {
				c.State.Shared = &scheduler.Shared{} // of one state of the cluster
				if r := Reserve(reserving, c, Reserves{}); len(r.Backfills) < waiting {
					b.Fatal(len(r.Backfills))
				}
			}
		})
	}
}

// crowded returns a full cluster of gangs with a node each, of which half have a known end.
func crowded(nodes, waiting int) Cluster {
	names, jobs := make([]string, nodes), make([]Job, 0, nodes+waiting)
	for i := range nodes {
		names[i] = fmt.Sprint("node-", i)
		jobs = append(jobs, jobOf(fmt.Sprint("runs-", i), 1, 1, onNative, runs(time.Hour, names[i]),
			endsIn(time.Duration(i%2*(1+i))*time.Minute)))
	}
	jobs = append(jobs, jobOf("large", 5, int32(nodes/2), onNative, lacksNodes, reservesAfter(time.Minute),
		createdAgo(2*time.Hour), keeps(time.Hour, names[:nodes/2]...)))
	for i := range waiting - 1 {
		jobs = append(jobs, jobOf(fmt.Sprint("later-", i), 5, int32(1+i%20), onNative,
			waits(time.Minute, v1alpha1.ReasonInsufficientResources)))
	}
	return Cluster{Now: now, State: full(names...), Jobs: jobs}
}
