package demo

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// releaseWithin bounds how long a preempted gang may keep GPUs: a pod's default grace period, and as much
// again for a slow machine. It is there to catch gangs that keep them forever.
const releaseWithin = time.Minute

// preemption is how a history says that the victim ended.
type preemption struct {
	// ranks is how many held GPUs when the scheduler picked the first of them.
	ranks int64
	// picked are the ranks that the scheduler picked, by UID. The operator is to end the others.
	picked map[string]bool
	// evicted: the scheduler picked no rank, and the whole gang's places were asked for; brokered: by the
	// operator.
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

// preemptedWhole checks that once the scheduler had picked the first rank, every rank gave its GPUs back,
// picked or not, and that urgent ran in their place.
func preemptedWhole(h History) (string, error) {
	p := findPreemption(h)
	if !p.evicted && len(p.picked) == 0 {
		return "", notShown("the scheduler picked no rank of it (condition DisruptionTarget), " +
			"nor did anybody ask for the whole gang's places")
	}
	if want := h.end().Jobs[second].Ranks; p.ranks < want {
		return "", notShown("only %d of its %d ranks held GPUs when the first was picked", p.ranks, want)
	}
	saved := p.savedAndLeft(h)
	if p.outlived != "" && saved == nil {
		return "", fmt.Errorf("%s kept its GPUs until it ended by itself", p.outlived)
	}
	if p.released.IsZero() {
		return "", fmt.Errorf("ranks that the scheduler did not pick (it picked %d of %d) hold %d GPUs to the end",
			len(p.picked), p.ranks, p.left)
	}
	if took := p.released.Sub(p.began); took > releaseWithin {
		return "", fmt.Errorf("its last GPU came back %s after the first rank was picked; %s is allowed",
			seconds(took), seconds(releaseWithin))
	}
	if !p.replaced {
		return "", fmt.Errorf("not all ranks of %s were bound before %s was started again", urgent, second)
	}
	others := p.ranks - int64(len(p.picked))
	if saved != nil {
		return fmt.Sprintf("%s asked for all its places back, its %d ranks saved step %d and left", p.asker(),
			p.ranks, saved.Step), nil
	}
	if p.evicted && len(p.picked) == 0 {
		return fmt.Sprintf("%s asked for all its places back, the operator ended its %d ranks", p.asker(),
			p.ranks), nil
	}
	if others == 0 {
		return fmt.Sprintf("the scheduler picked all %d ranks", p.ranks), nil
	}
	return fmt.Sprintf("the scheduler picked %d of its %d ranks, the operator ended the other %d",
		len(p.picked), p.ranks, others), nil
}

func (p preemption) asker() string {
	if p.brokered {
		return "the operator"
	}
	return "the scheduler"
}

// savedFirst checks that the operator had the gang save what it had trained before its ranks were ended.
func savedFirst(h History) (string, error) {
	p, r := findPreemption(h), findResumption(h)
	saved := p.savedAndLeft(h)
	switch {
	case !p.brokered:
		return "", errors.New("the operator did not ask it to make room")
	case saved == nil:
		return "", errors.New("it saved nothing more once it was asked")
	case p.known != nil && r.trained <= p.known.Step:
		return "", notShown("it had trained nothing since its last checkpoint")
	case r.work.LostSteps > 0:
		return "", fmt.Errorf("it lost %d steps all the same", r.work.LostSteps)
	}
	before := "none"
	if p.known != nil {
		before = fmt.Sprintf("step %d", p.known.Step)
	}
	return fmt.Sprintf("its last checkpoint was %s; asked, it saved step %d, and 0 steps are lost", before,
		saved.Step), nil
}

// savedAndLeft is what the gang saved, in the middle of its training, when its places were asked for; nil
// if it saved nothing. A rank of it that ends with code 0 has left as it was told, and not trained on.
func (p preemption) savedAndLeft(h History) *Point {
	r := findResumption(h)
	if !p.evicted || r.commit == nil || r.commit.Step >= r.total || p.known != nil && *p.known == *r.commit {
		return nil
	}
	return r.commit
}

// stoppedSayingRunning checks that the status of a running gang that loses a rank does not go on saying
// Running.
func stoppedSayingRunning(h History) (string, error) {
	a := victim()
	var lost, told time.Time
	first := false // it stopped saying Running before it lost a rank
	err := h.each(func(state *ClusterState, r Record) error {
		job := state.Jobs[second]
		first = first || lost.IsZero() && job.Attempt == a.number && job.Evicted &&
			state.GPUsInUse(a.has) == job.GPUs
		stale := job.Phase == v1alpha1.PhaseRunning && job.Attempt == a.number
		if p := r.Pod; p != nil && a.has(*p) && (p.Terminating || p.Deleted) && !endedByItself(*p) && stale &&
			lost.IsZero() {
			lost = r.Time
		}
		if !lost.IsZero() && told.IsZero() && !stale {
			told = r.Time
		}
		if !lost.IsZero() && told.IsZero() && state.Jobs[urgent].Phase == v1alpha1.PhaseRunning {
			return fmt.Errorf("%s ran already, and %s still said Running with ranks lost", urgent, second)
		}
		return nil
	})
	switch {
	case err != nil:
		return "", err
	case lost.IsZero() && first:
		return "it said Draining before its first rank was ended", nil
	case lost.IsZero():
		return "", notShown("it lost no rank while it said Running")
	case told.IsZero():
		return "", fmt.Errorf("it lost a rank and said Running to the end")
	case told.Sub(lost) > releaseWithin:
		return "", fmt.Errorf("it lost a rank and said Running for %s more", seconds(told.Sub(lost)))
	}
	return fmt.Sprintf("%s after the first rank was lost", seconds(told.Sub(lost))), nil
}

// endedByItself reports whether the rank had finished its work.
func endedByItself(p PodState) bool { return p.Phase == corev1.PodSucceeded }
