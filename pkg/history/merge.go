package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Merge joins two records of one job. It is commutative, associative and idempotent. The zero Record is
// empty. Merge panics if the records are of two jobs. The result can share memory with both.
func Merge(a, b Record) Record {
	switch {
	case a.Job.Key == Key{}:
		return b
	case b.Job.Key == Key{}:
		return a
	case a.Job.Key != b.Job.Key:
		panic(fmt.Sprintf("merging the records of two jobs, %v and %v", a.Job.Key, b.Job.Key))
	}
	r := Record{
		Job:         joinJobs(a.Job, b.Job),
		Attempts:    joinAttempts(a.Attempts, b.Attempts),
		Counts:      joinCounts(a.Counts, b.Counts),
		Transitions: joinTransitions(a.Transitions, b.Transitions),
		Preemptions: joinPreemptions(a.Preemptions, b.Preemptions),
		Samples:     joinSamples(a.Samples, b.Samples),
		Checkpoints: joinCheckpoints(a.Checkpoints, b.Checkpoints),
	}
	conclude(&r)
	return r
}

// Sort sorts the lists of a record.
func Sort(r *Record) {
	slices.SortFunc(r.Attempts, func(a, b Attempt) int { return cmp.Compare(a.Number, b.Number) })
	slices.SortFunc(r.Counts, func(a, b Counts) int { return cmp.Compare(a.Attempt, b.Attempt) })
	slices.SortFunc(r.Transitions, byTime)
	slices.SortFunc(r.Preemptions, func(a, b Preemption) int { return cmp.Compare(a.Attempt, b.Attempt) })
	slices.SortFunc(r.Samples, func(a, b Sample) int {
		return cmp.Or(cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Step, b.Step))
	})
	slices.SortFunc(r.Checkpoints, func(a, b Checkpoint) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), strings.Compare(a.URI, b.URI))
	})
}

// joinJobs returns the job of the latest version, with the earliest time of its deletion. Every version that
// knows the UID of the namespace has the same.
func joinJobs(a, b Job) Job {
	deleted, before := earliest(a.Deleted, b.Deleted), earliest(a.DeletedBefore, b.DeletedBefore)
	kind, namespace := betterKind(a.GPUKind, b.GPUKind), max(a.NamespaceUID, b.NamespaceUID)
	for _, j := range []*Job{&a, &b} {
		j.Deleted, j.DeletedBefore, j.GPUKind, j.NamespaceUID = nil, nil, "", ""
	}
	if later(b.ResourceVersion, a.ResourceVersion, func() bool { return canonical(b) > canonical(a) }) {
		a = b
	}
	a.Deleted, a.DeletedBefore, a.GPUKind, a.NamespaceUID = deleted, before, kind, namespace
	return a
}

// later reports whether resource version a is greater than b. Versions that are not from an API server are
// less than all others. If two replicas with different configurations recorded one version, tie decides.
func later(a, b string, tie func() bool) bool {
	if a == b {
		return tie()
	}
	if c, err := resourceversion.CompareResourceVersion(a, b); err == nil {
		return c > 0
	}
	wellA, wellB := wellFormed(a), wellFormed(b)
	if wellA != wellB {
		return wellA
	}
	return a > b
}

func wellFormed(version string) bool {
	_, err := resourceversion.CompareResourceVersion(version, version)
	return err == nil
}

// canonical returns a text that differs for different values.
func canonical(v any) string {
	text, err := json.Marshal(v)
	if err != nil { // values of this package always encode
		panic(fmt.Sprintf("encoding %s: %v", strings.TrimPrefix(reflect.TypeOf(v).String(), "history."), err))
	}
	return string(text)
}
