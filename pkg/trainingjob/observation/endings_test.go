package observation

import (
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// TestStopRequested checks pods whose containers exited 0 at noon. If the order is unknown, the stop came
// first.
func TestStopRequested(t *testing.T) {
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) metav1.Time { return metav1.NewTime(noon.Add(time.Duration(seconds) * time.Second)) }
	marked := func(by string, seconds int) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
				Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: by, LastTransitionTime: at(seconds),
			})
		}
	}
	// deleted with a grace period in seconds; the generation rises.
	deleted := func(asked int, grace int64) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			end := at(asked + int(grace))
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &end, &grace
			p.Generation = 2
		}
	}
	reportedOf := func(generation int64) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.ObservedGeneration = generation }
	}
	silent := func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }
	const eviction, kubelet = "EvictionByEvictionAPI", corev1.PodReasonTerminationByKubelet
	type edits = []func(*corev1.Pod)
	for name, c := range map[string]struct {
		want  bool
		edits edits
	}{
		"not requested":                             {false, nil},
		"marked before":                             {true, edits{marked(eviction, -5)}},
		"marked in the same second":                 {true, edits{marked(eviction, 0)}},
		"marked after, within the clocks' margin":   {true, edits{marked(eviction, 2)}},
		"marked long after":                         {false, edits{marked(eviction, 3)}},
		"marked by its kubelet at the end":          {true, edits{marked(kubelet, 30)}},
		"marked, and nothing says when it ended":    {true, edits{marked(eviction, 30), silent}},
		"deleted before":                            {true, edits{deleted(-5, 30)}},
		"deleted in the same second":                {true, edits{deleted(0, 30)}},
		"deleted after, within the clocks' margin":  {true, edits{deleted(2, 30)}},
		"deleted long after":                        {false, edits{deleted(3, 30)}},
		"deleted, no container says when it ended":  {true, edits{deleted(30, 30), silent}},
		"removed, and the first deletion is gone":   {true, edits{deleted(20, 0)}},
		"removed, its end was reported before":      {false, edits{deleted(20, 0), reportedOf(1)}},
		"removed, its end was reported after":       {true, edits{deleted(20, 0), reportedOf(2)}},
		"marked before, deleted after its end":      {true, edits{marked(eviction, -1), deleted(1, 0)}},
		"deleted long after, its end reported late": {true, edits{deleted(10, 30), reportedOf(2)}},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
		pod.Status.Phase = corev1.PodSucceeded
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: at(0)}},
		}}
		for _, edit := range c.edits {
			edit(pod)
		}
		if got := stopRequested(pod, ""); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// TestFirstFailureDoesNotDependOnTheOrder: however failures are shared out over passes, of which each knows
// the first of those before it and nothing else of them, the last pass finds one that costs the same.
func TestFirstFailureDoesNotDependOnTheOrder(t *testing.T) {
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		var all []Failure
		for i := range 1 + rng.Int32N(6) {
			all = append(all, Failure{
				Rank: spec.RankRef{Index: i}, Permanent: rng.IntN(2) == 0,
				Finished: noon.Add(time.Duration(rng.IntN(8)) * time.Second),
			})
		}
		want := FirstFailure(all)
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		var known []Failure
		for i := 0; i < len(all); {
			n := 1 + rng.IntN(len(all)-i)
			known = []Failure{FirstFailure(append(known, all[i:i+n]...))}
			i += n
		}
		if got := known[0]; got.Permanent != want.Permanent || !got.Finished.Equal(want.Finished) {
			t.Fatalf("seed %d: piece by piece %+v, at once %+v, of %+v", seed, got, want, all)
		}
	}
}
