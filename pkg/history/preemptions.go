package history

import (
	"cmp"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// notByOthers are the reasons for which an attempt ends by itself, by its user or by a timeout. Schedulers
// have their own reasons for evicting a gang, so every other reason is a preemption.
var notByOthers = []string{
	v1alpha1.ReasonRankFailed, v1alpha1.ReasonPermanentFailure, v1alpha1.ReasonBackoffLimit,
	v1alpha1.ReasonScheduleTimeout, v1alpha1.ReasonStartTimeout, v1alpha1.ReasonSpecChanged,
	v1alpha1.ReasonRestartRequested, v1alpha1.ReasonSuspended, v1alpha1.ReasonDrained,
	v1alpha1.ReasonHandedOver, v1alpha1.ReasonGangHung, v1alpha1.ReasonRehearsalPlayed,
}

func byOthers(reason string) bool { return reason != "" && !slices.Contains(notByOthers, reason) }

// preemptionsOf returns the preemption in the condition Preempted: that of the last disrupted attempt. The
// condition is true from the settlement of that attempt until the gang runs again; a later disruption
// replaces it.
func preemptionsOf(st *v1alpha1.TrainingJobStatus, transitions []Transition) []Preemption {
	c := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionPreempted)
	if c == nil || c.Status != metav1.ConditionTrue {
		return nil
	}
	of := ofAttempts(transitions)
	for number := st.Attempt - 1; number > 0; number-- {
		t, settled := settlement(of, number)
		if settled && byOthers(t.Reason) && t.Reason == c.Reason {
			return []Preemption{{
				Attempt: number, Time: t.Time, Reason: t.Reason, Message: c.Message, By: by(c.Message),
			}}
		}
		if !settled || byOthers(t.Reason) {
			return nil // its attempt is unknown
		}
	}
	return nil
}

// accommodated matches the preemptor in the messages of schedulers. Volcano and kube-scheduler write
// "preempting to accommodate a higher priority pod" (k8s.io/kubernetes/pkg/scheduler/framework/preemption,
// executor.go; volcano.sh/volcano pkg/scheduler/cache), Kueue "Preempted to accommodate a workload due to
// prioritization in the ClusterQueue" (sigs.k8s.io/kueue/pkg/scheduler/preemption). The operator adds "(and 2
// ranks more)" and a clause.
var accommodated = regexp.MustCompile(`\bto accommodate (.+?)(?: \(and \d+ ranks? more\))?(?:;|$)`)

// yields matches the preemptor in the operator's own message (decision, drainVictim). Stored messages of
// former versions have "makes room for".
var yields = regexp.MustCompile(`^(?:yields to|makes room for) (.+?), which has a higher priority`)

func by(message string) string {
	for _, pattern := range []*regexp.Regexp{accommodated, yields} {
		if m := pattern.FindStringSubmatch(message); m != nil {
			return m[1]
		}
	}
	return ""
}

// concludePreemptions lists the attempts that others ended: by the counters if known, else by the reason of
// the settlement.
func concludePreemptions(r *Record, of map[int32][]Transition) {
	observed := map[int32]Preemption{}
	for _, p := range r.Preemptions {
		if p.Message != "" { // else it is a conclusion
			observed[p.Attempt] = p
		}
	}
	r.Preemptions = nil
	for _, a := range r.Attempts {
		settled, known := settlement(of, a.Number)
		p, is := observed[a.Number]
		if !is && (!known || !preempted(r, a.Number, settled.Reason)) {
			continue
		}
		if known {
			p.Attempt, p.Reason, p.Time = a.Number, settled.Reason, settled.Time
		}
		if a.Ended != nil {
			p.Time = *a.Ended
		}
		p.Lost, p.Answer = a.Lost, answer(r, a.Number, p.Reason)
		r.Preemptions = append(r.Preemptions, p)
	}
}

// preempted reports whether the end of an attempt was counted as a disruption.
func preempted(r *Record, number int32, reason string) bool {
	before, knownBefore := countsAt(r, number)
	after, knownAfter := countsAt(r, number+1)
	if knownBefore && knownAfter {
		return after.Preemptions > before.Preemptions
	}
	return byOthers(reason)
}

// joinPreemptions returns the union of two sets. Every version has the same for one attempt.
func joinPreemptions(a, b []Preemption) []Preemption {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(a, b Preemption) int {
		return cmp.Or(cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(b.Message, a.Message))
	})
	return slices.CompactFunc(all, func(a, b Preemption) bool { return a.Attempt == b.Attempt })
}
