package coscheduling

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Parts of the messages that the scheduler writes on ranks.
const (
	// tooFewSiblings: not all ranks exist yet; the gang is not judged (core.go, PreFilter).
	tooFewSiblings = "cannot find enough sibling pods"
	// groupBackoff: the group backs off after a failure (podGroupBackoffSeconds).
	groupBackoff = "failed recently"
	// overMax: the max of the namespace's own quota would be exceeded (pkg/capacityscheduling, PreFilter).
	overMax = "is more than Max"
	// overMin: the sum of the min of all quotas would be exceeded (pkg/capacityscheduling, PreFilter).
	overMin = "total ElasticQuota used is more than min"
)

// asleep reports whether the ranks were rejected only because not all of them existed, and no event will make
// the scheduler try them again.
//
// The scheduler tries a rank as soon as it exists, and rejects it while others are missing. If the last rank
// appears between that rejection and the end of the cycle (coscheduling.go, PostFilter counts again), the
// group backs off although it was never tried as a unit. Its other ranks are rejected because of the backoff,
// and no event signals its end. The ranks would wait until the scheduler flushes its queue, for minutes; this
// happened to 5 of 200 gangs created at once. A gang that really found no capacity has another message on at
// least one rank.
func asleep(messages []string) bool {
	var backoff, early bool
	for _, m := range messages {
		switch {
		case strings.Contains(m, tooFewSiblings):
			early = true
		case strings.Contains(m, groupBackoff):
			backoff = true
		default:
			return false
		}
	}
	return backoff && early
}

// judging returns the messages that judge the gang, not only its first ranks.
func judging(messages []string) []string {
	return slices.DeleteFunc(slices.Clone(messages), func(m string) bool {
		return strings.Contains(m, tooFewSiblings)
	})
}

// anyContains reports whether any of the messages contains the part.
func anyContains(messages []string, part string) bool {
	return slices.ContainsFunc(messages, func(m string) bool { return strings.Contains(m, part) })
}

// cause matches one part of "0/4 nodes are available: 1 Insufficient cpu, 4 Insufficient nvidia.com/gpu.
// preemption: ..." (kube-scheduler's pkg/scheduler/framework/types.go, FitError.Error). Messages of plugins
// that run before the filters have no leading count.
var cause = regexp.MustCompile(`^\d+ (.+)$`)

// rejectedWithGang matches the causes of ranks that had found a node and were rejected because another rank
// of the gang had not (pkg/coscheduling/coscheduling.go, PostFilter and Unreserve; kube-scheduler's
// waiting_pods_map.go).
var rejectedWithGang = regexp.MustCompile(
	`^(optimistic rejection in |rejection in |rejected due to timeout )`,
)

// causes returns the distinct causes for which ranks were rejected, sorted. Names of ranks and counts of
// nodes are dropped, because they change with every cycle.
func causes(messages []string) []string {
	found := map[string]bool{}
	for _, m := range messages {
		_, text, ok := strings.Cut(m, " nodes are available: ")
		if !ok {
			continue
		}
		text, _, _ = strings.Cut(text, ". ")
		for _, part := range strings.Split(strings.TrimSuffix(text, "."), ", ") {
			if c := cause.FindStringSubmatch(part); c != nil && !rejectedWithGang.MatchString(c[1]) {
				found[c[1]] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}
