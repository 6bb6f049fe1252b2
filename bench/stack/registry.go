package stack

import (
	"fmt"
	"slices"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/schedulers"
)

// All stacks, the floors first: the bounds of the others follow from theirs. The programs of the peers have
// the limits of a profile.
func All(profile Profile) []Stack {
	var stacks []Stack
	for _, s := range schedulers.Names() {
		stacks = append(stacks, Raw(s))
	}
	for _, s := range schedulers.Names() {
		stacks = append(stacks, Ours(s))
	}
	for _, peer := range peers(profile) {
		stacks = append(stacks, rendered{peer})
	}
	return append(stacks, Check())
}

// peers are the stacks that are not ours.
func peers(profile Profile) []Renderer {
	volcano, kueue := VolcanoJob{profile}, KueueJob{profile}
	return []Renderer{Trainer{volcano}, volcano, kueue, KueueJobSet{kueue}, KueueTrainer{kueue}}
}

// Named are the stacks with these names, in the order of All, each once. "raw" and "ours" stand for those on
// every scheduler.
func Named(names []string, profile Profile) ([]Stack, error) {
	all := All(profile)
	wanted := map[string]bool{}
	for _, name := range names {
		found := false
		for _, s := range all {
			if full := s.Describe().Name; full == name || strings.HasPrefix(full, name+"/") {
				wanted[full], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no stack %q; there are %s", name, strings.Join(namesOf(all), ", "))
		}
	}
	return slices.DeleteFunc(all, func(s Stack) bool { return !wanted[s.Describe().Name] }), nil
}

func namesOf(stacks []Stack) []string {
	var names []string
	for _, s := range stacks {
		names = append(names, s.Describe().Name)
	}
	return names
}
