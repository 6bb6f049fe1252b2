package demo

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// releaseWithin bounds how long a preempted gang may keep GPUs: a pod's default grace period, and as much
// again for a slow machine.
const releaseWithin = time.Minute

// preemption is what a history shows of the victim's preemption.
type preemption struct {
	// ranks is the number of ranks that held GPUs when the scheduler picked the first of them.
	ranks int64
	// picked has the UIDs of the ranks that the scheduler picked. The operator must end the others.
	picked map[string]bool
	// evicted: the gang was preempted as a unit, by the operator if brokered is true, otherwise by the
	// scheduler.
	evicted, brokered bool
	began             time.Time
	// released is when the last GPU came back, zero if never.
	released time.Time
	// outlived is a rank that ended by itself after the preemption, "" for none.
	outlived string
	// known is the newest checkpoint when the preemption began; nil for none.
	known *Point
	// replaced is true when all ranks of the preemptor were bound before any of the victim's next attempt.
	replaced bool
	left     int64 // GPUs that the victim holds at the end
}

func findPreemption(h History) preemption {
	p := preemption{picked: map[string]bool{}}
	a, next, by := victim(), attempt{second, 2}, attempt{urgent, 1}
	returned := false
	_ = h.each(func(state *ClusterState, r Record) error {
		begin := func() {
			if !p.evicted && len(p.picked) == 0 {
				p.began = r.Time
				p.ranks = count(state.Ranks(a.job, a.number), PodState.HoldsGPUs)
				p.known = state.Jobs[a.job].Latest
			}
		}
		if j := r.Job; j != nil && j.Name == a.job && j.Attempt == a.number && j.Evicted {
			begin()
			p.evicted, p.brokered = true, p.brokered || j.Brokered
		}
		if r.Pod == nil {
			return nil
		}
		if a.has(*r.Pod) && r.Pod.Disrupted != "" {
			begin()
			p.picked[r.Pod.UID] = true
		}
		if !p.evicted && len(p.picked) == 0 {
			return nil
		}
		if a.has(*r.Pod) && r.Pod.Phase == corev1.PodSucceeded && p.outlived == "" {
			p.outlived = r.Pod.Name
		}
		p.left = state.GPUsInUse(a.has)
		if p.left == 0 && p.released.IsZero() {
			p.released = r.Time
		}
		returned = returned || state.GPUsInUse(next.has) > 0
		ranks := state.Jobs[by.job].Ranks
		if !returned && ranks > 0 && count(state.Ranks(by.job, by.number), PodState.HoldsGPUs) == ranks {
			p.replaced = true
		}
		return nil
	})
	return p
}

// preemptedWhole checks that all ranks released their GPUs after the scheduler picked the first one, and that
// urgent ran in their place.
func preemptedWhole(h History) (string, error) {
	p := findPreemption(h)
	if !p.evicted && len(p.picked) == 0 {
		return "", notShown("the scheduler picked no rank of it (condition DisruptionTarget), " +
			"and the gang was not preempted as a unit")
	}
	if want := h.end().Jobs[second].Ranks; p.ranks < want {
		return "", notShown("only %d of its %d ranks held GPUs when the first was picked", p.ranks, want)
	}
	saved := p.savedAndLeft(h)
	if p.outlived != "" && saved == nil {
		return "", fmt.Errorf("%s kept its GPUs until it ended by itself", p.outlived)
	}
	if p.released.IsZero() {
		return "", fmt.Errorf("ranks that the scheduler did not pick (it picked %d of %d) hold %d GPUs at the end",
			len(p.picked), p.ranks, p.left)
	}
	if took := p.released.Sub(p.began); took > releaseWithin {
		return "", fmt.Errorf("it released its last GPU %s after the first rank was picked, later than %s",
			seconds(took), seconds(releaseWithin))
	}
	if !p.replaced {
		return "", fmt.Errorf("not all ranks of %s were bound before %s was started again", urgent, second)
	}
	others := p.ranks - int64(len(p.picked))
	if saved != nil {
		return fmt.Sprintf("%s preempted it as a unit, its %d ranks saved step %d and left", p.preemptor(),
			p.ranks, saved.Step), nil
	}
	if p.evicted && len(p.picked) == 0 {
		return fmt.Sprintf("%s preempted it as a unit, the operator ended its %d ranks", p.preemptor(),
			p.ranks), nil
	}
	if others == 0 {
		return fmt.Sprintf("the scheduler picked all %d ranks", p.ranks), nil
	}
	return fmt.Sprintf("the scheduler picked %d of its %d ranks, the operator ended the other %d",
		len(p.picked), p.ranks, others), nil
}

// preemptor returns who preempted the gang as a unit.
func (p preemption) preemptor() string {
	if p.brokered {
		return "the operator"
	}
	return "the scheduler"
}

// savedFirst checks that the gang saved its progress on the operator's request before its ranks were stopped.
func savedFirst(h History) (string, error) {
	p, r := findPreemption(h), findResumption(h)
	saved := p.savedAndLeft(h)
	switch {
	case !p.brokered:
		return "", errors.New("the operator did not preempt it")
	case saved == nil:
		return "", errors.New("it saved nothing after the operator's request")
	case p.known != nil && r.trained <= p.known.Step:
		return "", notShown("it had trained nothing since its last checkpoint")
	case r.work.LostSteps > 0:
		return "", fmt.Errorf("it lost %d steps although it saved", r.work.LostSteps)
	}
	before := "none"
	if p.known != nil {
		before = fmt.Sprintf("step %d", p.known.Step)
	}
	return fmt.Sprintf("its last checkpoint was %s; on request it saved step %d, and it lost 0 steps", before,
		saved.Step), nil
}

// savedAndLeft returns the checkpoint that the gang saved, in the middle of its training, after it was
// preempted as a unit; nil if it saved none. A rank of such a gang that exits 0 has stopped on request.
func (p preemption) savedAndLeft(h History) *Point {
	r := findResumption(h)
	if !p.evicted || r.commit == nil || r.commit.Step >= r.total || p.known != nil && *p.known == *r.commit {
		return nil
	}
	return r.commit
}

// stoppedReportingRunning checks that the status of a running gang that loses a rank stops being Running.
func stoppedReportingRunning(h History) (string, error) {
	a := victim()
	var lost, reported time.Time
	first := false // it stopped reporting Running before it lost a rank
	err := h.each(func(state *ClusterState, r Record) error {
		job := state.Jobs[second]
		first = first || lost.IsZero() && job.Attempt == a.number && job.Evicted &&
			state.GPUsInUse(a.has) == job.GPUs
		stale := job.Phase == v1alpha1.PhaseRunning && job.Attempt == a.number
		if p := r.Pod; p != nil && a.has(*p) && (p.Terminating || p.Deleted) && !endedByItself(*p) && stale &&
			lost.IsZero() {
			lost = r.Time
		}
		if !lost.IsZero() && reported.IsZero() && !stale {
			reported = r.Time
		}
		if !lost.IsZero() && reported.IsZero() && state.Jobs[urgent].Phase == v1alpha1.PhaseRunning {
			return fmt.Errorf("%s ran already, and %s still reported Running with ranks lost", urgent, second)
		}
		return nil
	})
	switch {
	case err != nil:
		return "", err
	case lost.IsZero() && first:
		return "it reported Draining before its first rank was stopped", nil
	case lost.IsZero():
		return "", notShown("it lost no rank while it reported Running")
	case reported.IsZero():
		return "", fmt.Errorf("it lost a rank and reported Running to the end")
	case reported.Sub(lost) > releaseWithin:
		return "", fmt.Errorf("it lost a rank and reported Running for %s more", seconds(reported.Sub(lost)))
	}
	return fmt.Sprintf("%s after the first rank was lost", seconds(reported.Sub(lost))), nil
}

// endedByItself reports whether the rank succeeded.
func endedByItself(p PodState) bool { return p.Phase == corev1.PodSucceeded }
