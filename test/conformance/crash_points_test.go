package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Moment of a kill: before the write reaches the API server, or after it, before the operator sees the
// answer.
type Moment string

const (
	Before Moment = "before"
	After  Moment = "after"
)

// Crash is where one run of the operator's process ends: at its Write-th write. The zero value never kills
// it.
type Crash struct {
	Moment Moment
	Write  int
	// Kind limits which writes are counted (KindOf). Two runs of the same steps make the same writes in a
	// different order, and a few more or fewer; the kind and the number find the same write in both.
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

// KindOf returns a write without what differs between runs of the same steps. The write is in
// CrashTransport's form.
func KindOf(write string) string {
	fields := strings.Fields(write)
	segments := strings.Split(fields[1], "/")
	if i := slices.Index(segments, "namespaces"); i >= 0 && len(segments) > i+2 {
		segments = segments[i+2:]
		// pods differ by rank, groups by attempt
		if len(segments) > 1 && segments[0] != "trainingjobs" {
			segments = slices.Delete(segments, 1, 2)
		}
	}
	fields[1] = strings.Join(segments, "/")
	return strings.Join(fields, " ")
}

// SomeCrashes chooses n successive crashes of an operator that makes the given number of writes undisturbed.
// Each is within the first n-th part of the writes, so that all of them are reached. The choice depends on
// the arguments alone.
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

// AllCrashes lists a crash before and after each of the writes 1..writes.
func AllCrashes(writes int) []Crash {
	var crashes []Crash
	for n := 1; n <= writes; n++ {
		crashes = append(crashes, Crash{Moment: Before, Write: n}, Crash{Moment: After, Write: n})
	}
	return crashes
}

// EachCrash lists a crash before and after each of the given writes, identified by its kind and its number
// within the kind.
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
