package workload

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Builtin is a workload that ships.
type Builtin struct {
	// Name is the workload's.
	Name string
	// Question that it answers at scale 1.
	Question string
	// build the rest at a scale from MinScale to 1.
	build func(scale float64) Workload
}

// MinScale is the smallest scale of a builtin; 1 is the largest and the one that its documentation speaks of.
const MinScale = 0.01

// quickScale is small enough for a CI run on two cores.
const quickScale = 0.1

// Set is a choice of builtins, to be played together.
type Set string

const (
	// SetDefault answers what most people ask first: burst, fixed-8 and storm.
	SetDefault Set = "default"
	// SetQuick is burst and fixed-8 at a tenth of their size: a storm takes as long at any size.
	SetQuick Set = "quick"
	// SetFull is all builtins.
	SetFull Set = "full"
)

// Builtins in the order of the report.
func Builtins() []Builtin {
	return []Builtin{
		{"burst", "How long do gangs of 8 that fill the cluster take to run, submitted all at once?", burst},
		{"fixed-1", "How many gangs of 1 rank an hour get through a full cluster?", fixed(1)},
		{"fixed-8", "How many gangs of 8 ranks an hour get through a full cluster?", fixed(8)},
		{"fixed-32", "How many gangs of 32 ranks an hour get through a full cluster?", fixed(32)},
		{"fixed-128", "How many gangs of 128 ranks an hour get through a full cluster?", fixed(128)},
		{"deadlock", "Do gangs of 60% of the cluster each, submitted at once, block each other?", deadlock},
		{"storm-1s", "What do two waves of preemption cost gangs that save every second?", storm(1)},
		{"storm-4s", "What do two waves of preemption cost gangs that save every 4 s?", storm(4)},
		{"storm-never", "What do two waves of preemption cost gangs that never save?", storm(0)},
		{"idle", "What is written while half of the gangs run, half are queued, and nothing happens?", idle},
		{"head-of-line", "Does a gang that can never run hold up the small ones behind it?", headOfLine},
		{"giant-2000", "How long does one gang that fills 250 nodes take to run?", giant(2000)},
		{"giant-5000", "How long does one gang that fills 625 nodes take to run?", giant(5000)},
		{"churn", "What is left behind when gangs are deleted while they queue, start and run?", churn},
		{"failures", "How much training is lost while one node after another dies?", failures},
		{"philly", "How long do gangs wait in the Philly trace's mix of sizes, durations and arrivals?",
			philly(1440)},
		{"philly-fast", "How long do they wait when the same gangs arrive and end twice as fast?", philly(2880)},
	}
}

// Lookup finds a builtin by its name. "storm" is short for storm-4s. The error lists the names.
func Lookup(name string) (Builtin, error) {
	if name == "storm" {
		name = "storm-4s"
	}
	all := Builtins()
	if i := slices.IndexFunc(all, func(b Builtin) bool { return b.Name == name }); i >= 0 {
		return all[i], nil
	}
	names := make([]string, 0, len(all))
	for _, b := range all {
		names = append(names, b.Name)
	}
	return Builtin{}, fmt.Errorf("no builtin is named %q: take one of %s", name, strings.Join(names, ", "))
}

// Build the workload at a scale: at 1 as documented, below that with fewer nodes and gangs in the same
// proportions, as far as whole gangs and nodes allow. Times of training stay. The same scale gives the same
// workload. A scale below MinScale or above 1 is an error.
func (b Builtin) Build(scale float64) (Workload, error) {
	if !(scale >= MinScale && scale <= 1) { // not a number is neither
		return Workload{}, fmt.Errorf("building %s: the scale is %g: take %g to 1", b.Name, scale, MinScale)
	}
	w := b.build(scale)
	w.Name, w.Question, w.GPUsPerNode = b.Name, cmp.Or(w.Question, b.Question), gpusPerNode
	slices.SortFunc(w.Gangs, byArrival)
	w.Cut = w.bound()
	if err := Validate(w); err != nil {
		return Workload{}, fmt.Errorf("building %s: %w", b.Name, err)
	}
	return w, nil
}

// Workloads of a set, in the order of the report. An unknown set is an error that lists the known ones.
func (s Set) Workloads() ([]Workload, error) {
	names, scale := []string{"burst", "fixed-8", "storm"}, 1.0
	switch s {
	case SetDefault:
	case SetQuick:
		names, scale = []string{"burst", "fixed-8"}, quickScale
	case SetFull:
		names = nil
		for _, b := range Builtins() {
			names = append(names, b.Name)
		}
	default:
		return nil, fmt.Errorf("no set is named %q: take one of %s, %s, %s", s, SetDefault, SetQuick, SetFull)
	}
	workloads := make([]Workload, 0, len(names))
	for _, name := range names {
		b, err := Lookup(name)
		if err != nil {
			return nil, err
		}
		w, err := b.Build(scale)
		if err != nil {
			return nil, err
		}
		workloads = append(workloads, w)
	}
	return workloads, nil
}

// scaled is n at a scale, at least least.
func scaled(n int, scale float64, least int) int {
	return max(least, int(math.Round(float64(n)*scale)))
}
