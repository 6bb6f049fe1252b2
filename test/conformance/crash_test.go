//go:build cluster

package conformance

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/test/fakescheduler"
)

// crashCycle is a cycle in which the operator is killed at each of its writes.
type crashCycle struct {
	name  string
	steps []Step
	// writes are kinds of writes (KindOf) at which it must be seen to die, before and after: else the points missed the cycle.
	writes []string
}

// The operator dies before and after each of its writes in a preempt-and-return cycle, a new one starts, and the outcome is the same. On
// the fake in every run; with -crash-on on real schedulers too, where the points come one after the other.
func TestCrashAtEveryWrite(t *testing.T) {
	t.Parallel()
	if crashesOn(fakeDialect(fakescheduler.Behavior{})) {
		t.Run("fake", func(t *testing.T) {
			crashEverywhere(t, sharedCluster(t), fakeDialect(fakescheduler.Behavior{}), returns())
		})
		t.Run("fake that evicts part", func(t *testing.T) { crashEverywhere(t, sharedCluster(t), evictsPart(), returns()) })
	}
	crashOnReal(t, returns())
}

// The same with checkpoints: the attempt that follows goes on where the newest complete one ends, whoever died when. With
// -crash-points=all also where work is lost.
func TestCrashAtEveryWriteOfAResume(t *testing.T) {
	t.Parallel()
	unheard := resumes("saves unheard", savesUnheard)
	if crashesOn(fakeDialect(fakescheduler.Behavior{})) {
		t.Run("fake that evicts part", func(t *testing.T) { crashEverywhere(t, sharedCluster(t), evictsPart(), unheard) })
		if *crashPoints == "all" {
			t.Run("fake", func(t *testing.T) {
				crashEverywhere(t, sharedCluster(t), fakeDialect(fakescheduler.Behavior{}), resumes("dies", dies))
			})
		}
	}
	crashOnReal(t, unheard)
}

// evictsPart of a gang at a time: what is left of the gang is the operator's to end.
func evictsPart() *dialect {
	return fakeDialect(fakescheduler.Behavior{Options: []fakescheduler.Option{fakescheduler.EvictsPart}})
}

func crashOnReal(t *testing.T, c crashCycle) {
	for _, d := range []*dialect{nativeDialect(), volcanoDialect(), coschedulingDialect(), kueueDialect()} {
		if crashesOn(d) {
			t.Run(d.name, func(t *testing.T) {
				cluster := clusterOf(t, d)
				cluster.turn.Lock()
				defer cluster.turn.Unlock()
				crashEverywhere(t, cluster, d, c)
			})
		}
	}
}

var loser, winner = jobSpec{name: "low", ranks: 3, gpus: 8, class: low}, jobSpec{name: "high", ranks: 2, gpus: 8, class: high}

func returns() crashCycle {
	return crashCycle{"returns", cycle(loser, winner), []string{
		"PATCH trainingjobs/low/status Queued", "PATCH trainingjobs/low/status Running", "PATCH trainingjobs/low/status Draining", "POST pods",
	}}
}

func resumes(name string, end ending) crashCycle {
	c := crashCycle{name, resumeCycle(loser, winner, end), append(returns().writes,
		"POST persistentvolumeclaims",
		"PATCH trainingjobs/low/status", // a checkpoint is acknowledged
		"PATCH trainingjobs/low/status Succeeded",
	)}
	if end == savesUnheard {
		c.writes = append(c.writes, "DELETE pods") // the one that has searched
	}
	return c
}

// crashesOn says whether the flag names the scheduler.
func crashesOn(d *dialect) bool {
	name, _, _ := strings.Cut(d.name, "+")
	return slices.Contains(strings.Split(*crashOn, ","), name)
}

func crashEverywhere(t *testing.T, cluster *testCluster, d *dialect, c crashCycle) {
	begin := time.Now()
	want, err := attemptScenario(t.Context(), cluster, d, c.steps, nil)
	if err != nil {
		t.Fatal(err)
	}
	points := EachCrash(want.made)
	hits := newHits()
	t.Run("points", func(t *testing.T) {
		for _, point := range points {
			t.Run(point.String(), func(t *testing.T) {
				if d.behavior != nil {
					t.Parallel()
				}
				got, err := attemptScenario(t.Context(), cluster, d, c.steps, []Crash{point})
				if err != nil {
					t.Fatal(err)
				}
				if got.state != want.state {
					t.Errorf("the outcome is\n%s\nand was, undisturbed,\n%s", got.state, want.state)
				}
				hits.add(point, got.killed)
			})
		}
	})
	t.Logf("%s: %d writes, %d crash points, of which %d were not reached: %.0f s; killed at\n%s\nnot reached, since that run did not make the write: %s\nthe outcome of each:\n%s",
		c.name, want.writes, len(points), len(hits.missed), time.Since(begin).Seconds(), hits, strings.Join(hits.missed, ", "), want.state)
	if t.Failed() {
		return // points that failed were not counted
	}
	if strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		t.Log("-run chooses points: what they reached is not judged")
		return
	}
	if n := hits.count() + len(hits.missed); n != len(points) {
		t.Errorf("%d of %d points were played", n, len(points))
	}
	// Two runs differ by some writes: where counts stand for long they are written, too.
	if len(hits.missed) > len(points)/4 {
		t.Errorf("%d of %d points were not reached", len(hits.missed), len(points))
	}
	for _, kind := range c.writes {
		if hits.at[Before][kind] == 0 || hits.at[After][kind] == 0 {
			t.Errorf("no point was before, or none after: %s", kind)
		}
	}
}

// hits are the writes at which operators were killed, and the points at which none was.
type hits struct {
	mu     sync.Mutex
	at     map[Moment]map[string]int
	missed []string
}

func newHits() *hits { return &hits{at: map[Moment]map[string]int{Before: {}, After: {}}} }

func (h *hits) add(point Crash, killed []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(killed) == 0 {
		h.missed = append(h.missed, point.String())
	}
	for _, write := range killed {
		h.at[point.Moment][KindOf(write)]++
	}
}

// count the points that were reached.
func (h *hits) count() int {
	n := 0
	for _, at := range h.at {
		for _, times := range at {
			n += times
		}
	}
	return n
}

func (h *hits) String() string {
	kinds := map[string]bool{}
	for _, at := range h.at {
		for kind := range at {
			kinds[kind] = true
		}
	}
	var lines []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		lines = append(lines, fmt.Sprintf("  %3d before, %3d after: %s", h.at[Before][kind], h.at[After][kind], kind))
	}
	return strings.Join(lines, "\n")
}
