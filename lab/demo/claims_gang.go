package demo

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// withinCapacity checks that no node had more GPUs bound than it has.
func withinCapacity(h History) (string, error) {
	most, capacity := int64(0), int64(0)
	err := h.each(func(state *ClusterState, r Record) error {
		if r.Pod == nil || !r.Pod.HoldsGPUs() {
			return nil
		}
		onNode := state.GPUsInUse(func(p PodState) bool { return p.Node == r.Pod.Node })
		if has := state.Nodes[r.Pod.Node].GPUs; onNode > has {
			return fmt.Errorf("%s has %d GPUs and %d were bound when %s came", r.Pod.Node, has, onNode, r.Pod.Name)
		}
		capacity = state.TotalGPUs()
		most = max(most, capacity-state.FreeGPUs())
		return nil
	})
	if err == nil && most == 0 {
		err = notShown("no rank was bound to a node")
	}
	return fmt.Sprintf("at most %d of %d", most, capacity), err
}

// allOrNothing checks that every attempt with a bound rank had all its ranks bound at once.
func allOrNothing(h History) (string, error) {
	most, need := map[attempt]int64{}, map[attempt]int64{}
	_ = h.each(func(state *ClusterState, r Record) error {
		if r.Pod == nil || !r.Pod.HoldsGPUs() {
			return nil
		}
		a := attempt{r.Pod.Job, r.Pod.Attempt}
		most[a] = max(most[a], count(state.Ranks(a.job, a.number), PodState.HoldsGPUs))
		need[a] = state.Jobs[a.job].Ranks
		return nil
	})
	if len(most) == 0 {
		return "", notShown("no rank was bound to a node")
	}
	var partly []string
	for a, n := range most {
		if n < need[a] {
			partly = append(partly, fmt.Sprintf("%s had only %d of %d ranks bound", a, n, need[a]))
		}
	}
	if len(partly) > 0 {
		slices.Sort(partly)
		return "", errors.New(strings.Join(partly, "; "))
	}
	return fmt.Sprintf("%d starts, each with all ranks", len(most)), nil
}

// secondWaitedWhole checks that second waited while GPUs for some of its ranks were free, and that no rank
// was bound before all ranks fit.
func secondWaitedWhole(h History) (string, error) {
	a := attempt{second, 1}
	bound, free, was := false, int64(0), false
	var since time.Time
	var inPart time.Duration
	err := h.each(func(state *ClusterState, r Record) error {
		now := couldStartInPart(state, a)
		switch {
		case now && !was:
			since, free = r.Time, state.FreeGPUs()
		case was && !now:
			inPart += r.Time.Sub(since)
		}
		was = now
		return fitsWhole(state, r, a, &bound)
	})
	switch {
	case err != nil:
		return "", err
	case free == 0:
		return "", notShown("it was never seen rejected and queued while GPUs for a part of it were free; " +
			"the machine may be busy: play the demo again")
	case !bound:
		return "", notShown("it never started")
	}
	return fmt.Sprintf("%d GPUs were free for %s, and none of its ranks was bound", free, seconds(inPart)), nil
}

// couldStartInPart reports whether the scheduler has tried the waiting gang and GPUs for some of its ranks
// are free. It requires that all ranks of first run, because the ranks of first do not free their GPUs all at
// once.
func couldStartInPart(state *ClusterState, a attempt) bool {
	job, blocking := state.Jobs[a.job], attempt{first, 1}
	judged := job.foundNoCapacity() ||
		slices.ContainsFunc(state.Ranks(a.job, a.number), func(p PodState) bool { return p.Unschedulable })
	free := state.FreeGPUs()
	return judged && job.Phase == v1alpha1.PhaseQueued && job.Attempt == a.number &&
		state.GPUsInUse(a.has) == 0 &&
		state.GPUsInUse(blocking.has) == state.Jobs[blocking.job].GPUs && free < job.GPUs &&
		free*job.Ranks >= job.GPUs
}

// fitsWhole checks that all ranks of the gang fit when a record binds one of them.
func fitsWhole(state *ClusterState, r Record, a attempt, bound *bool) error {
	if r.Pod == nil || !a.has(*r.Pod) || !r.Pod.HoldsGPUs() {
		return nil
	}
	*bound = true
	job, others := state.Jobs[a.job], state.GPUsInUse(func(p PodState) bool { return !a.has(p) })
	if free := state.TotalGPUs() - others; r.Pod.Phase == corev1.PodPending && free < job.GPUs {
		return fmt.Errorf("%s was bound to %s when only %d of the gang's %d GPUs were free", r.Pod.Name,
			r.Pod.Node, free, job.GPUs)
	}
	return nil
}

// secondReportedWhy checks that the status of the waiting job named the lack of capacity.
func secondReportedWhy(h History) (string, error) {
	message := ""
	_ = h.each(func(state *ClusterState, r Record) error {
		j := r.Job
		if message == "" && j != nil && j.Name == second && j.Attempt == 1 && j.foundNoCapacity() {
			message = j.Message
		}
		return nil
	})
	if message == "" {
		return "", errors.New("its status never had a reason for the lack of capacity, with a message")
	}
	return message, nil
}

// attemptsApart checks that no pod of an attempt was created before all pods of earlier attempts had ended.
func attemptsApart(h History) (string, error) {
	again := 0
	seen := map[string]bool{}
	err := h.each(func(state *ClusterState, r Record) error {
		if r.Pod == nil || seen[r.Pod.UID] {
			return nil
		}
		seen[r.Pod.UID] = true
		if r.Pod.Attempt > 1 {
			again++
		}
		for _, old := range state.sorted(func(p PodState) bool {
			return p.Job == r.Pod.Job && p.Attempt < r.Pod.Attempt && !p.Ended()
		}) {
			return fmt.Errorf("%s of attempt %d was created before %s of attempt %d had ended", r.Pod.Name,
				r.Pod.Attempt, old.Name, old.Attempt)
		}
		return nil
	})
	if err == nil && again == 0 {
		err = notShown("there was no second attempt")
	}
	return fmt.Sprintf("%d ranks of a second attempt were created after all ranks of the first had "+
		"ended", again), err
}

// runningIsWhole checks that a job reports Running only after each of its ranks has run.
func runningIsWhole(h History) (string, error) {
	ran := map[attempt]map[string]bool{}
	reported := map[attempt]bool{}
	err := h.each(func(state *ClusterState, r Record) error {
		if p := r.Pod; p != nil && p.Phase == corev1.PodRunning {
			a := attempt{p.Job, p.Attempt}
			if ran[a] == nil {
				ran[a] = map[string]bool{}
			}
			ran[a][p.UID] = true
		}
		j := r.Job
		if j == nil || j.Phase != v1alpha1.PhaseRunning {
			return nil
		}
		a := attempt{j.Name, j.Attempt}
		if n := int64(len(ran[a])); !reported[a] && n < j.Ranks {
			return fmt.Errorf("%s reported Running when %d of %d ranks ran", a, n, j.Ranks)
		}
		reported[a] = true
		return nil
	})
	if err == nil && len(reported) == 0 {
		err = notShown("no job reported Running")
	}
	return fmt.Sprintf("%d times, each with all ranks", len(reported)), err
}
