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

// attempt is one start of a job.
type attempt struct {
	job    string
	number int32
}

func (a attempt) String() string { return fmt.Sprintf("%s attempt %d", a.job, a.number) }

func (a attempt) has(p PodState) bool { return p.Job == a.job && p.Attempt == a.number }

func withinCapacity(h History) (string, error) {
	most, capacity := int64(0), int64(0)
	err := h.each(func(w *World, r Record) error {
		if r.Pod == nil || !r.Pod.Holds() {
			return nil
		}
		onNode := w.Held(func(p PodState) bool { return p.Node == r.Pod.Node })
		if has := w.Nodes[r.Pod.Node].GPUs; onNode > has {
			return fmt.Errorf("%s has %d GPUs and %d were bound when %s came", r.Pod.Node, has, onNode, r.Pod.Name)
		}
		capacity = w.Capacity()
		most = max(most, capacity-w.Free())
		return nil
	})
	if err == nil && most == 0 {
		err = notShown("no rank was bound to a node")
	}
	return fmt.Sprintf("at most %d of %d", most, capacity), err
}

// allOrNothing: an attempt of which any rank was bound had all of them bound at once.
func allOrNothing(h History) (string, error) {
	most, need := map[attempt]int64{}, map[attempt]int64{}
	_ = h.each(func(w *World, r Record) error {
		if r.Pod == nil || !r.Pod.Holds() {
			return nil
		}
		a := attempt{r.Pod.Job, r.Pod.Attempt}
		most[a] = max(most[a], count(w.Ranks(a.job, a.number), PodState.Holds))
		need[a] = w.Jobs[a.job].Ranks
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

// secondWaitedWhole: while it was queued and judged some of its ranks would have fitted, and none was bound before all
// did.
func secondWaitedWhole(h History) (string, error) {
	a := attempt{second, 1}
	bound, free, was := false, int64(0), false
	var since time.Time
	var tempted time.Duration
	err := h.each(func(w *World, r Record) error {
		now := isTempted(w, a)
		switch {
		case now && !was:
			since, free = r.Time, w.Free()
		case was && !now:
			tempted += r.Time.Sub(since)
		}
		was = now
		return fitsWhole(w, r, a, &bound)
	})
	switch {
	case err != nil:
		return "", err
	case free == 0:
		return "", notShown("it was never seen judged and queued while GPUs for a part of it were free; is the machine very busy? Play it again")
	case !bound:
		return "", notShown("it never started")
	}
	return fmt.Sprintf("%d GPUs were free for %s, and none of its ranks was bound", free, seconds(tempted)), nil
}

// isTempted: the scheduler has tried the waiting gang, and GPUs for some of its ranks are free. Only while first runs
// whole: that GPUs are free for a moment between the ends of its ranks tempts nobody.
func isTempted(w *World, a attempt) bool {
	job, blocking := w.Jobs[a.job], attempt{first, 1}
	judged := job.foundNoRoom() ||
		slices.ContainsFunc(w.Ranks(a.job, a.number), func(p PodState) bool { return p.Unschedulable })
	free := w.Free()
	return judged && job.Phase == v1alpha1.PhaseQueued && job.Attempt == a.number && w.Held(a.has) == 0 &&
		w.Held(blocking.has) == w.Jobs[blocking.job].GPUs && free < job.GPUs && free*job.Ranks >= job.GPUs
}

// fitsWhole checks the record that binds a rank: the gang's other ranks must have had room too.
func fitsWhole(w *World, r Record, a attempt, bound *bool) error {
	if r.Pod == nil || !a.has(*r.Pod) || !r.Pod.Holds() {
		return nil
	}
	*bound = true
	job, others := w.Jobs[a.job], w.Held(func(p PodState) bool { return !a.has(p) })
	if room := w.Capacity() - others; r.Pod.Phase == corev1.PodPending && room < job.GPUs {
		return fmt.Errorf("%s was bound to %s when only %d of the gang's %d GPUs were free", r.Pod.Name, r.Pod.Node, room, job.GPUs)
	}
	return nil
}

func secondSaidWhy(h History) (string, error) {
	message := ""
	_ = h.each(func(w *World, r Record) error {
		j := r.Job
		if message == "" && j != nil && j.Name == second && j.Attempt == 1 && j.foundNoRoom() {
			message = j.Message
		}
		return nil
	})
	if message == "" {
		return "", errors.New("no status of it had a reason that names the lack of room, with a message")
	}
	return message, nil
}

// attemptsApart: no pod of a later attempt exists beside one of an earlier that has not ended.
func attemptsApart(h History) (string, error) {
	again := 0
	seen := map[string]bool{}
	err := h.each(func(w *World, r Record) error {
		if r.Pod == nil || seen[r.Pod.UID] {
			return nil
		}
		seen[r.Pod.UID] = true
		if r.Pod.Attempt > 1 {
			again++
		}
		for _, old := range w.sorted(func(p PodState) bool { return p.Job == r.Pod.Job && p.Attempt < r.Pod.Attempt && !p.Ended() }) {
			return fmt.Errorf("%s of attempt %d was created while %s of attempt %d was there", r.Pod.Name, r.Pod.Attempt, old.Name, old.Attempt)
		}
		return nil
	})
	if err == nil && again == 0 {
		err = notShown("there was no second attempt")
	}
	return fmt.Sprintf("%d ranks of a second attempt came after the last of the first had gone", again), err
}

func countersRight(h History) (string, error) {
	w := h.end()
	var wrong []string
	for _, name := range cast() {
		want := JobState{Attempt: 1}
		if name == second {
			want = JobState{Attempt: 2, Preemptions: 1}
		}
		got := w.Jobs[name]
		if got.Attempt != want.Attempt || got.Preemptions != want.Preemptions || got.Restarts != 0 {
			wrong = append(wrong, fmt.Sprintf("%s ended with attempt %d, preemptions %d, restarts %d; %d, %d, 0 are right",
				name, got.Attempt, got.Preemptions, got.Restarts, want.Attempt, want.Preemptions))
		}
	}
	if len(wrong) > 0 {
		return "", errors.New(strings.Join(wrong, "; "))
	}
	return second + ": attempt 2, preemptions 1, restarts 0", nil
}

func allFinished(h History) (string, error) {
	w := h.end()
	var wrong []string
	for _, name := range cast() {
		if phase := w.Jobs[name].Phase; phase != v1alpha1.PhaseSucceeded {
			wrong = append(wrong, fmt.Sprintf("%s ended as %q", name, phase))
		}
		if held := w.Held(func(p PodState) bool { return p.Job == name }); held > 0 {
			wrong = append(wrong, fmt.Sprintf("%s still holds %d GPUs", name, held))
		}
	}
	if len(wrong) > 0 {
		return "", errors.New(strings.Join(wrong, "; "))
	}
	return fmt.Sprintf("%d Succeeded, %d of %d GPUs free", len(cast()), w.Free(), w.Capacity()), nil
}
