package liveness

import (
	"cmp"
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

const (
	// maxSuspects in a verdict.
	maxSuspects = 8
	// stateHolds is how long a process must be stopped or wait for a disk.
	stateHolds = time.Minute
	// silentFor intervals at most, a gang makes progress without a rank that it needs.
	silentFor = SilentAfter + 1
	// sentLater is how long after the last progress a beat must have been sent to have the last step: the agent
	// looks once a second.
	sentLater = 5 * time.Second
	// loadDiffers is the least difference of CPUs, and loadFactor the least factor.
	loadDiffers, loadFactor = 0.2, 4
	// minComparable ranks are needed to tell which of them differs.
	minComparable = 3
	// busyFactor of the median makes a rank a suspect of slow steps.
	busyFactor = 1.3
)

// evidence returns what speaks against a rank; empty: nothing.
type evidence func(reading) v1alpha1.SuspectEvidence

// findSuspects finds the ranks that the others wait for: by the first rule that points to at most one rank or
// a tenth of them.
func (j *judgement) findSuspects() {
	for _, rule := range []struct {
		on     rules
		strong bool
		find   evidence
	}{
		{silentRanks, true, j.silentSinceTheHang},
		{behindRanks, true, j.behind()},
		{stoppedRanks, true, inState(checkpoint.ProcessStopped, v1alpha1.EvidenceStopped)},
		{diskRanks, true, inState(checkpoint.ProcessWaitsDisk, v1alpha1.EvidenceDiskWait)},
		{silentRanks, false, j.silent},
		{whereRanks, false, j.elsewhere()},
		{loadRanks, false, j.loaded()},
	} {
		if j.on.has(rule.on) && j.point(rule.find) {
			j.verdict.Strong = rule.strong
			return
		}
	}
}

// point makes the ranks suspects that evidence points to, if they are few enough. Otherwise it returns false.
func (j *judgement) point(find evidence) bool {
	if find == nil {
		return false
	}
	v := &j.verdict
	var found []Suspect
	for _, r := range j.watched {
		if e := find(r); e != "" {
			s := Suspect{Pod: r.Pod, Node: r.Node, Evidence: e}
			if r.Beat != nil {
				s.Step = r.Beat.Step
			}
			found = append(found, s)
		}
	}
	if len(found) == 0 || len(found) > j.few() && j.on.has(fewSuspects) {
		return false
	}
	v.Node = found[0].Node
	for _, s := range found {
		if s.Node != v.Node {
			v.Node = ""
		}
	}
	slices.SortFunc(found, func(a, b Suspect) int { return cmp.Compare(a.Pod, b.Pod) })
	v.Suspects = found[:min(len(found), maxSuspects)]
	return true
}

// few is how many ranks can be suspects.
func (j *judgement) few() int { return max(1, len(j.watched)/10) }

// findSilent finds the silent ranks of a gang that makes progress.
func (j *judgement) findSilent() {
	if j.on.has(silentRanks) {
		j.point(j.silent)
	}
}

// silent points to ranks whose beats do not arrive.
func (j *judgement) silent(r reading) v1alpha1.SuspectEvidence {
	switch {
	case r.arrives || r.age() <= SilentAfter*j.interval:
		return ""
	case !r.NodeReady:
		return v1alpha1.EvidenceNodeNotReady
	}
	return v1alpha1.EvidenceSilent
}

// silentSinceTheHang points to silent ranks whose last beats arrived when the gang stopped. A rank that has
// been silent for longer was not needed for progress, and one that became silent later did not stop the gang.
// Of a rank that sent no beat to this process, only its node can show that.
func (j *judgement) silentSinceTheHang(r reading) v1alpha1.SuspectEvidence {
	e := j.silent(r)
	if e == "" || !j.on.has(silentInTime) {
		return e
	}
	if r.Beat == nil {
		if r.NodeReady {
			return ""
		}
		return e
	}
	since, idle := r.age(), j.verdict.Idle
	if since < idle-j.interval || since > idle+silentFor*j.interval+2*j.verdict.StepTime {
		return ""
	}
	return e
}

// behind points to ranks whose step is lower than that of the others. It needs the step of nearly all ranks,
// from beats that were sent after the gang stopped. A rank that wrote its step much earlier writes it no
// more.
func (j *judgement) behind() evidence {
	v := &j.verdict
	n := 0
	for _, r := range j.watched {
		if j.hasLastStep(r) {
			n++
		}
	}
	if v.Step == nil || n < 2 || n < len(j.watched)-j.few() {
		return nil
	}
	return func(r reading) v1alpha1.SuspectEvidence {
		if !j.hasLastStep(r) || *r.Beat.Step >= *v.Step || r.idleNow()-v.Idle > v.Limit {
			return ""
		}
		return v1alpha1.EvidenceBehind
	}
}

func (j *judgement) hasLastStep(r reading) bool {
	return r.Beat != nil && r.Beat.Step != nil &&
		(!j.on.has(freshSteps) || r.arrives && r.age()+sentLater <= j.verdict.Idle)
}

// inState points to ranks whose processes have been in a state for a minute.
func inState(state checkpoint.ProcessState, e v1alpha1.SuspectEvidence) evidence {
	return func(r reading) v1alpha1.SuspectEvidence {
		if !r.arrives || r.Beat.State != state || seconds(r.Beat.StateSeconds) < stateHolds {
			return ""
		}
		return e
	}
}

// elsewhere points to ranks that are at another place in the code than the others.
func (j *judgement) elsewhere() evidence {
	places := map[string]int{}
	n := 0
	for _, r := range j.watched {
		if r.arrives && r.Beat.Where != "" {
			places[r.Beat.Where]++
			n++
		}
	}
	for place, ranks := range places {
		if n >= max(minComparable, len(j.watched)-j.few()) && n-ranks <= j.few() {
			return func(r reading) v1alpha1.SuspectEvidence {
				if !r.arrives || r.Beat.Where == "" || r.Beat.Where == place {
					return ""
				}
				return v1alpha1.EvidenceWhere
			}
		}
	}
	return nil
}

// loaded points to ranks that use much more or much less of a CPU than the others.
func (j *judgement) loaded() evidence {
	var all []float64
	for _, r := range j.watched {
		if r.arrives {
			all = append(all, r.Beat.CPUs)
		}
	}
	if len(all) < minComparable {
		return nil
	}
	slices.Sort(all)
	usual := all[len(all)/2]
	return func(r reading) v1alpha1.SuspectEvidence {
		if !r.arrives {
			return ""
		}
		low, high := min(r.Beat.CPUs, usual), max(r.Beat.CPUs, usual)
		if !(high-low >= loadDiffers) || high < loadFactor*low {
			return ""
		}
		return v1alpha1.EvidenceLoad
	}
}

// findBusy finds the rank that computes for the longest, if that is much longer than the others do.
func (j *judgement) findBusy() bool {
	if !j.on.has(busyRanks) {
		return false
	}
	busy := func(b *checkpoint.Beat) float64 { return b.BusySeconds }
	usual, most := median(j.watched, busy), time.Duration(0)
	for _, r := range j.watched {
		if r.arrives {
			most = max(most, seconds(busy(r.Beat)))
		}
	}
	if usual <= 0 || float64(most) < busyFactor*float64(usual) {
		return false
	}
	return j.point(func(r reading) v1alpha1.SuspectEvidence {
		if !r.arrives || seconds(busy(r.Beat)) < most {
			return ""
		}
		return v1alpha1.EvidenceBusy
	})
}
