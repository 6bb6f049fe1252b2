package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Moment of a death: before the write reaches the API server, or after it, before its answer is known.
type Moment string

const (
	Before Moment = "before"
	After  Moment = "after"
)

// Crash is where one life of the operator ends: at its Write-th write, counted from its start. Zero: it does
// not.
type Crash struct {
	Moment Moment
	Write  int
	// Kind, where it is given, is which writes are counted (KindOf). Two runs of the same steps make the same
	// writes in another order, and some more or fewer: this finds the same one in both.
	Kind string
}

func (c Crash) String() string {
	switch {
	case c.Write == 0:
		return "never"
	case c.Kind != "":
		return fmt.Sprintf("%s %s number %d", c.Moment, strings.ReplaceAll(c.Kind, "/", "."), c.Write)
	}
	return fmt.Sprintf("%s write %d", c.Moment, c.Write)
}

// KindOf a write, as CrashTransport has it: what differs from run to run of the same steps is left out.
func KindOf(write string) string {
	fields := strings.Fields(write)
	segments := strings.Split(fields[1], "/")
	if i := slices.Index(segments, "namespaces"); i >= 0 && len(segments) > i+2 {
		segments = segments[i+2:]
		// names of pods differ by rank, of groups by attempt
		if len(segments) > 1 && segments[0] != "trainingjobs" {
			segments = slices.Delete(segments, 1, 2)
		}
	}
	fields[1] = strings.Join(segments, "/")
	return strings.Join(fields, " ")
}

// SomeCrashes are the ends of n lives, one after the other, of an operator that makes so many writes when it
// is left in peace: each dies within the first n-th part of them, so that all get to die. They are the same
// for the same name at every run.
func SomeCrashes(name string, writes, n int) []Crash {
	var seed uint64
	for _, r := range name {
		seed = seed*31 + uint64(r)
	}
	random := rand.New(rand.NewPCG(seed, uint64(n)))
	crashes := make([]Crash, 0, n)
	for range n {
		crashes = append(crashes, Crash{Moment: []Moment{Before, After}[random.IntN(2)],
			Write: 1 + random.IntN(max(1, writes/n))})
	}
	return crashes
}

// AllCrashes are each of the writes 1..writes, before and after.
func AllCrashes(writes int) []Crash {
	var crashes []Crash
	for n := 1; n <= writes; n++ {
		crashes = append(crashes, Crash{Moment: Before, Write: n}, Crash{Moment: After, Write: n})
	}
	return crashes
}

// EachCrash is each of the given writes, before and after, told by its kind and its number in it.
func EachCrash(writes []string) []Crash {
	var crashes []Crash
	seen := map[string]int{}
	for _, write := range writes {
		kind := KindOf(write)
		seen[kind]++
		crashes = append(crashes, Crash{Before, seen[kind], kind}, Crash{After, seen[kind], kind})
	}
	return crashes
}
