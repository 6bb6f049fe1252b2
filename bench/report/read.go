package report

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"mlplatform.example.com/trainingjob-operator/bench/result"
)

// Read results, as Write leaves them in report.json. Those of another version, and those that contradict
// themselves, are refused: a report of them would say something wrong.
func Read(from io.Reader) (result.Results, error) {
	var r result.Results
	if err := json.NewDecoder(from).Decode(&r); err != nil {
		return result.Results{}, fmt.Errorf("reading results: %w", err)
	}
	if err := check(r); err != nil {
		return result.Results{}, err
	}
	return r, nil
}

// Merge joins results of several benchmarks on the same machine at the same commit. Rounds are numbered on
// from one to the next, so that runs are only ever compared with runs of their own round. Stacks and
// workloads of the same name must be the same.
func Merge(all ...result.Results) (result.Results, error) {
	merged := result.Results{Version: result.Version}
	for i, r := range all {
		if err := check(r); err != nil {
			return result.Results{}, fmt.Errorf("results %d: %w", i+1, err)
		}
		if i == 0 {
			merged.Machine = r.Machine
		}
		if r.Machine != merged.Machine {
			return result.Results{}, fmt.Errorf(
				"results %d: their machine or commit is another: report them on their own", i+1)
		}
		var err error
		if merged.Stacks, err = join(merged.Stacks, r.Stacks, stackName); err != nil {
			return result.Results{}, fmt.Errorf("results %d: joining stacks: %w", i+1, err)
		}
		if merged.Workloads, err = join(merged.Workloads, r.Workloads, workloadName); err != nil {
			return result.Results{}, fmt.Errorf("results %d: joining workloads: %w", i+1, err)
		}
		last := lastRound(merged)
		for _, run := range r.Runs {
			run.Round += last
			merged.Runs = append(merged.Runs, run)
		}
		merged.Rounds = last + max(r.Rounds, lastRound(r))
		merged.Interrupted = merged.Interrupted || r.Interrupted
	}
	return merged, nil
}

func stackName(s result.Stack) string       { return s.Name }
func workloadName(w result.Workload) string { return w.Name }

func lastRound(r result.Results) int {
	last := 0
	for _, run := range r.Runs {
		last = max(last, run.Round)
	}
	return last
}

// join appends those that are not there yet.
func join[T any](have, more []T, name func(T) string) ([]T, error) {
	for _, m := range more {
		same := func(h T) bool { return name(h) == name(m) }
		if i := slices.IndexFunc(have, same); i < 0 {
			have = append(have, m)
		} else if !reflect.DeepEqual(have[i], m) {
			return nil, fmt.Errorf("%s differs from the one before: report them on their own", name(m))
		}
	}
	return have, nil
}

// runKey is what no two runs that were played share.
type runKey struct {
	stack, workload string
	round, repeat   int
}

func check(r result.Results) error {
	if r.Version != result.Version {
		return fmt.Errorf("results have version %d and this program reads %d: use the program that wrote them",
			r.Version, result.Version)
	}
	stacks, err := unique(r.Stacks, stackName)
	if err != nil {
		return fmt.Errorf("checking stacks: %w", err)
	}
	workloads, err := unique(r.Workloads, workloadName)
	if err != nil {
		return fmt.Errorf("checking workloads: %w", err)
	}
	for name := range workloads { // they become names of files
		if invalid := validation.IsDNS1123Label(name); invalid != nil {
			return fmt.Errorf("checking workloads: name %q: %s", name, invalid[0])
		}
	}
	played := map[runKey]bool{}
	for i, run := range r.Runs {
		key := runKey{run.Stack, run.Workload, run.Round, run.Repeat}
		switch {
		case !stacks[run.Stack] || !workloads[run.Workload]:
			return fmt.Errorf("run %d: stack %q or workload %q is not listed", i, run.Stack, run.Workload)
		case run.Error == "" && played[key]:
			return fmt.Errorf("run %d: %s has played %s in round %d before", i, run.Stack, run.Workload,
				run.Round)
		case !sampled(run.Curves):
			return fmt.Errorf("run %d: its curves are not as long as their seconds", i)
		}
		played[key] = run.Error == "" || played[key]
	}
	return nil
}

// sampled reports whether every curve has a value for every second, or none at all.
func sampled(c result.Curves) bool {
	curves := [][]int{c.Created, c.Admitted, c.Bound, c.Finished, c.Training, c.BusyGPUs, c.HeldGPUs}
	return !slices.ContainsFunc(curves, func(values []int) bool {
		return len(values) != len(c.Seconds) && len(values) != 0
	})
}

func unique[T any](list []T, name func(T) string) (map[string]bool, error) {
	names := map[string]bool{}
	for _, one := range list {
		if names[name(one)] {
			return nil, fmt.Errorf("%s is listed twice", name(one))
		}
		names[name(one)] = true
	}
	return names, nil
}
