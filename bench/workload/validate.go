package workload

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Bounds of a workload: what is over them is a slip of the pen rather than a benchmark.
const (
	MaxNodes       = 20_000
	MaxGPUsPerNode = 64
	MaxGangs       = 100_000
	// MaxRanks of all gangs together.
	MaxRanks = 1_000_000
	// MaxTime of everything that is a time.
	MaxTime = 7 * 24 * time.Hour
	// MaxGangName in characters: names of groups and pods are made from it.
	MaxGangName = 40
	// maxErrors that are reported at once.
	maxErrors = 20
)

// Validate returns what is wrong with a workload, by field and with what to do about it; nil when every stack
// can play it. At most 20 errors are returned.
func Validate(w Workload) error {
	errs := slices.Concat(
		validateCluster(w), validateGangs(w), validateFailures(field.NewPath("failures"), w.Failures, w.Nodes),
		validateEnd(w),
	)
	return errs[:min(len(errs), maxErrors)].ToAggregate()
}

func validateCluster(w Workload) field.ErrorList {
	errs := validateLabel(field.NewPath("name"), w.Name, validation.DNS1123LabelMaxLength)
	if w.Question == "" {
		errs = append(errs, field.Required(field.NewPath("question"), "say in a sentence what the run answers"))
	}
	errs = append(errs, validateCount(field.NewPath("nodes"), w.Nodes, MaxNodes)...)
	return append(errs, validateCount(field.NewPath("gpusPerNode"), w.GPUsPerNode, MaxGPUsPerNode)...)
}

func validateLabel(path *field.Path, value string, longest int) field.ErrorList {
	var errs field.ErrorList
	if len(value) > longest {
		errs = append(errs, field.TooLong(path, value, longest))
	}
	for _, why := range validation.IsDNS1123Label(value) {
		errs = append(errs, field.Invalid(path, value, why))
	}
	return errs
}

func validateCount(path *field.Path, value, most int) field.ErrorList {
	if value < 1 || value > most {
		return field.ErrorList{field.Invalid(path, value, fmt.Sprintf("must be from 1 to %d", most))}
	}
	return nil
}

func validateTime(path *field.Path, value time.Duration) field.ErrorList {
	if value < 0 || value > MaxTime {
		return field.ErrorList{field.Invalid(path, value.String(), fmt.Sprintf("must be from 0s to %s", MaxTime))}
	}
	return nil
}

func validateGangs(w Workload) field.ErrorList {
	path := field.NewPath("gangs")
	switch {
	case len(w.Gangs) == 0:
		return field.ErrorList{field.Required(path, "a workload plays at least one gang")}
	case len(w.Gangs) > MaxGangs:
		return field.ErrorList{field.TooMany(path, len(w.Gangs), MaxGangs)}
	case !slices.ContainsFunc(w.Gangs, func(g Gang) bool { return !g.Never }):
		return field.ErrorList{field.Invalid(path, len(w.Gangs), "a run waits for gangs that fit: add one")}
	}
	var errs field.ErrorList
	ranks, seen := 0, make(map[string]bool, len(w.Gangs))
	for i, g := range w.Gangs {
		at := path.Index(i)
		errs = append(errs, validateLabel(at.Child("name"), g.Name, MaxGangName)...)
		if seen[g.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), g.Name))
		}
		seen[g.Name] = true
		if i > 0 && byArrival(w.Gangs[i-1], g) > 0 {
			errs = append(errs, field.Invalid(at, g.Name, "must not come before the gang ahead of it: sort gangs by "+
				"at, then by name"))
		}
		errs = append(errs, validateGang(at, g, w)...)
		ranks += g.Ranks
		if ranks > MaxRanks {
			return append(errs, field.TooMany(path, ranks, MaxRanks))
		}
		if len(errs) >= maxErrors {
			return errs
		}
	}
	return errs
}

// byArrival orders gangs as a workload does.
func byArrival(a, b Gang) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Name, b.Name)) }

// validateGang of a workload, but for its name: of w it reads the cluster, the end and the cut.
func validateGang(path *field.Path, g Gang, w Workload) field.ErrorList {
	errs := slices.Concat(
		validateCount(path.Child("ranks"), g.Ranks, MaxRanks),
		validateTime(path.Child("at"), g.At), validateTime(path.Child("train"), g.Train),
		validateTime(path.Child("checkpoint"), g.Checkpoint),
		validateTime(path.Child("deleteAfter"), g.DeleteAfter),
	)
	priorities := []Priority{PriorityLow, PriorityNormal, PriorityHigh}
	if !slices.Contains(priorities, g.Priority) {
		errs = append(errs, field.NotSupported(path.Child("priority"), g.Priority, priorities))
	}
	if g.At > w.Cut && w.Cut > 0 {
		errs = append(errs, field.Invalid(path.Child("at"), g.At.String(), fmt.Sprintf(
			"is after the cut of %s: raise cut", w.Cut)))
	}
	errs = append(errs, validateFit(path, g, w)...)
	return append(errs, validateGangEnds(path, g, w.End)...)
}

// validateFit holds ranks, GPUs and Never of a gang against the cluster. A bad cluster is reported elsewhere.
func validateFit(path *field.Path, g Gang, w Workload) field.ErrorList {
	if w.GPUsPerNode < 1 || w.Nodes < 1 || g.Ranks < 1 {
		return nil
	}
	if errs := validateCount(path.Child("gpus"), g.GPUs, w.GPUsPerNode); len(errs) > 0 {
		return errs
	}
	switch most := w.Nodes * (w.GPUsPerNode / g.GPUs); {
	case g.Ranks > most && !g.Never:
		return field.ErrorList{field.Invalid(path.Child("ranks"), g.Ranks, fmt.Sprintf(
			"the cluster holds %d ranks of %d GPUs: add nodes, or set never to true", most, g.GPUs))}
	case g.Ranks <= most && g.Never:
		return field.ErrorList{field.Invalid(path.Child("never"), true, fmt.Sprintf(
			"the gang fits: the cluster holds %d ranks of %d GPUs: add ranks, or leave never out", most, g.GPUs))}
	}
	return nil
}

func validateGangEnds(path *field.Path, g Gang, end End) field.ErrorList {
	switch {
	case end == EndFinished && g.Train == 0 && g.DeleteAfter == 0 && !g.Never:
		return field.ErrorList{field.Required(path.Child("train"),
			"a run that ends with the last gang would never end: set train or deleteAfter, or end to Placed")}
	case end == EndPlaced && g.DeleteAfter > 0:
		return field.ErrorList{field.Invalid(path.Child("deleteAfter"), g.DeleteAfter.String(),
			"a deleted gang may never run, and the run waits until all do: leave it out, or set end to Finished")}
	}
	return nil
}

// validateFailures of a cluster with that many nodes: a node that is dead cannot die.
func validateFailures(path *field.Path, failures []NodeFailure, nodes int) field.ErrorList {
	var errs field.ErrorList
	if len(failures) > MaxGangs {
		return field.ErrorList{field.TooMany(path, len(failures), MaxGangs)}
	}
	back := map[int]time.Duration{} // by node: when it is alive again
	for i, f := range failures {
		at := path.Index(i)
		errs = append(errs, validateTime(at.Child("at"), f.At)...)
		errs = append(errs, validateTime(at.Child("for"), f.For)...)
		if f.For == 0 {
			errs = append(errs, field.Required(at.Child("for"), "say how long the node stays dead, such as 20s"))
		}
		if f.Node < 0 || f.Node >= nodes {
			errs = append(errs, field.Invalid(at.Child("node"), f.Node, fmt.Sprintf("must be from 0 to %d", nodes-1)))
		}
		if i > 0 && f.At < failures[i-1].At {
			errs = append(errs, field.Invalid(at.Child("at"), f.At.String(), "sort failures by at"))
		}
		if until, died := back[f.Node]; died && f.At < until {
			errs = append(errs, field.Invalid(at.Child("node"), f.Node, fmt.Sprintf(
				"is still dead until %s: take another node, or a later time", until)))
		}
		back[f.Node] = f.At + f.For
		if len(errs) >= maxErrors {
			return errs
		}
	}
	return errs
}

func validateEnd(w Workload) field.ErrorList {
	var errs field.ErrorList
	if ends := []End{EndFinished, EndPlaced}; !slices.Contains(ends, w.End) {
		errs = append(errs, field.NotSupported(field.NewPath("end"), w.End, ends))
	}
	errs = append(errs, validateTime(field.NewPath("idle"), w.Idle)...)
	errs = append(errs, validateTime(field.NewPath("cut"), w.Cut)...)
	if w.Cut == 0 {
		errs = append(errs, field.Required(field.NewPath("cut"), "say when a run is given up, such as 10m"))
	}
	return errs
}
