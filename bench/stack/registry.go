package stack

import (
	"fmt"
	"slices"
	"strings"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// All stacks, the floors first: the bounds of the others follow from theirs.
func All() []Stack {
	schedulers := []string{
		localcluster.SchedulerVolcano, localcluster.SchedulerNative, localcluster.SchedulerCoscheduling,
		localcluster.SchedulerKueue,
	}
	var stacks []Stack
	for _, s := range schedulers {
		stacks = append(stacks, Raw(s))
	}
	for _, s := range schedulers {
		stacks = append(stacks, Ours(s))
	}
	return append(stacks, Slowed(Raw(localcluster.SchedulerVolcano)))
}

// Named are the stacks with these names, in the order of All, each once. "raw" and "ours" stand for those on
// every scheduler.
func Named(names []string) ([]Stack, error) {
	all := All()
	wanted := map[string]bool{}
	for _, name := range names {
		found := false
		for _, s := range all {
			if full := s.Describe().Name; full == name || strings.HasPrefix(full, name+"/") {
				wanted[full], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no stack %q; there are %s", name, strings.Join(Names(), ", "))
		}
	}
	return slices.DeleteFunc(all, func(s Stack) bool { return !wanted[s.Describe().Name] }), nil
}

// Names of all stacks.
func Names() []string {
	var names []string
	for _, s := range All() {
		names = append(names, s.Describe().Name)
	}
	return names
}
