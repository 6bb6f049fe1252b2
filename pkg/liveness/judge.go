package liveness

import (
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

const (
	// JudgedAfter intervals as the leader, beats of all ranks can have arrived.
	JudgedAfter = 2
	// SilentAfter intervals without a beat a rank is silent.
	SilentAfter = 3
	// SlowAfter is how long the state Slow lasts before the caller reports the gang as slow.
	SlowAfter = 10 * time.Minute
	// shortestLook is the shortest time between two looks.
	shortestLook = 5 * time.Second
	// defaultInterval of beats, if none is known.
	defaultInterval = 30 * time.Second
	// maxSeconds of any number in a beat: three years.
	maxSeconds = 1e8
	// mebibyte is 1 MiB. A rank that moves so many bytes of disk in a second, or ten times as many of network,
	// is active.
	mebibyte          = 1 << 20
	activeNetworkRate = 10
)

// Judge returns the verdict about a gang in phase Running.
func Judge(g Gang) Verdict { return judge(g, allRules) }

func judge(g Gang, on rules) Verdict {
	j := read(g, on)
	v := &j.verdict
	v.State = v1alpha1.LivenessUnknown
	if len(j.reporters) == 0 || !j.enoughBeats() {
		v.Next = max(j.interval, shortestLook)
		return *v
	}
	v.Idle, v.StepTime, v.LongestPause = j.idle(), j.stepTime(), j.longestPause()
	v.Limit = j.limit()
	j.findStep()
	switch {
	case v.Idle >= v.Limit && j.reportIdleness():
		v.State = v1alpha1.LivenessHung
		v.Active = j.active()
		j.findSuspects()
	case j.slow():
		v.State = v1alpha1.LivenessSlow
		if !j.findBusy() {
			j.findSilent()
		}
	default:
		v.State = v1alpha1.LivenessProgressing
		j.findSilent()
	}
	v.Next = j.next()
	return *v
}

// judgement is the work on a verdict.
type judgement struct {
	on       rules
	gang     Gang
	interval time.Duration
	// watched are the ranks that train, and reporters those of them that have named a step or a phase. If none
	// has, but the job reported steps in earlier attempts, those are all ranks with a beat.
	watched, reporters []reading
	verdict            Verdict
}

// reading is a rank with the times of its beat, which are finite and not negative.
type reading struct {
	*Rank
	// idle at the time of the beat.
	idle time.Duration
	// arrives: a beat arrived in the last 3 intervals.
	arrives bool
}

func read(g Gang, on rules) *judgement {
	j := &judgement{on: on, gang: g, interval: g.Interval, watched: make([]reading, 0, len(g.Ranks))}
	if j.interval <= 0 {
		j.interval = defaultInterval
	}
	j.interval = min(j.interval, seconds(maxSeconds))
	named := 0
	for i := range g.Ranks {
		r := &g.Ranks[i]
		if on.has(trainersOnly) && !r.Trains {
			continue
		}
		rd := reading{Rank: r}
		if r.Beat != nil {
			rd.idle = seconds(r.Beat.IdleSeconds)
			rd.arrives = r.Age <= SilentAfter*j.interval
			if r.Beat.Step != nil || r.Beat.Phase != "" {
				named++
			}
		}
		if rd.arrives {
			j.verdict.Reporting++
		}
		j.watched = append(j.watched, rd)
	}
	j.verdict.Watched = int32(len(j.watched))
	j.findReporters(named)
	return j
}

// findReporters finds the ranks whose progress counts.
func (j *judgement) findReporters(named int) {
	if named == len(j.watched) {
		j.reporters = j.watched
		return
	}
	if named == 0 && j.gang.Past.Step <= 0 {
		return
	}
	for _, r := range j.watched {
		if b := r.Beat; b != nil && (b.Step != nil || b.Phase != "" || named == 0 || !j.on.has(reportersOnly)) {
			j.reporters = append(j.reporters, r)
		}
	}
}

// EnoughBeats reports whether beats of enough ranks arrive to judge the gang: of 80%, or of all but one.
func EnoughBeats(watched, reporting int32) bool {
	return reporting > 0 && watched-reporting <= max(1, watched/5)
}

func (j *judgement) enoughBeats() bool {
	watched, reporting := j.verdict.Watched, j.verdict.Reporting
	return EnoughBeats(watched, reporting) || reporting > 0 && !j.on.has(enoughBeats)
}

// idle returns the age of the last progress of any rank, at most the time since the gang runs.
func (j *judgement) idle() time.Duration {
	idle := j.reporters[0].idleNow()
	for _, r := range j.reporters[1:] {
		if j.on.has(anyProgress) {
			idle = min(idle, r.idleNow())
		} else {
			idle = max(idle, r.idleNow())
		}
	}
	if j.on.has(sinceRunning) {
		idle = min(idle, max(0, j.gang.Running))
	}
	return idle
}

// idleNow returns the age of the rank's last progress, as far as its beat shows it.
func (r reading) idleNow() time.Duration { return r.idle + r.age() }

// age of the beat, between 0 and maxSeconds.
func (r reading) age() time.Duration { return min(max(0, r.Age), seconds(maxSeconds)) }

// reportIdleness reports whether half of the ranks have reported themselves that they were idle for the
// limit. Otherwise beats that do not arrive would make a gang look idle.
func (j *judgement) reportIdleness() bool {
	if !j.on.has(ownIdleness) {
		return true
	}
	n := 0
	for _, r := range j.reporters {
		if r.idle >= j.verdict.Limit {
			n++
		}
	}
	return 2*n >= len(j.reporters)
}

// findStep finds the highest step, and how many ranks have finished it.
func (j *judgement) findStep() {
	v := &j.verdict
	for _, r := range j.watched {
		if r.Beat == nil || r.Beat.Step == nil {
			continue
		}
		switch step := *r.Beat.Step; {
		case v.Step == nil || step > *v.Step:
			v.Step, v.Ahead = &step, 1
		case step == *v.Step:
			v.Ahead++
		}
	}
}

// active reports whether some ranks move data and others do not; a single rank, whether it moves data. Only
// beats count whose rates were measured after the gang stopped.
func (j *judgement) active() bool {
	var n, active int
	for _, r := range j.watched {
		if r.Beat == nil || r.age()+j.interval > j.verdict.Idle {
			continue
		}
		n++
		if r.Beat.DiskBytesPerSecond >= mebibyte || r.Beat.NetworkBytesPerSecond >= activeNetworkRate*mebibyte {
			active++
		}
	}
	return active > 0 && (active < n || j.verdict.Watched == 1)
}

// slow reports whether the steps of the attempt take longer than the job's by more than the factor.
func (j *judgement) slow() bool {
	past, percent := float64(j.gang.Past.Step), float64(j.gang.Limits.SlowPercent)
	return j.on.has(slowSteps) && past > 0 && percent > 0 && float64(j.verdict.StepTime)*100 > past*percent
}

// next returns how long the verdict holds if no other beat arrives.
func (j *judgement) next() time.Duration {
	v := &j.verdict
	next := j.interval
	if left := v.Limit - v.Idle; v.State != v1alpha1.LivenessHung && left > 0 {
		next = left
	} else if v.State != v1alpha1.LivenessHung {
		next /= 4 // the beats that show the limit arrive within an interval
	}
	for _, r := range j.watched {
		if r.arrives {
			next = min(next, SilentAfter*j.interval-r.age()+1) // silent is longer than
		}
	}
	return max(next, shortestLook)
}

// stepTime returns the median step time of the ranks whose beats arrive; 0: unknown.
func (j *judgement) stepTime() time.Duration {
	return median(j.reporters, func(b *checkpoint.Beat) float64 { return b.StepSeconds })
}

// longestPause returns the longest one that has ended in this attempt.
func (j *judgement) longestPause() time.Duration {
	return longest(j.reporters, func(b *checkpoint.Beat) float64 { return b.LongestPauseSeconds })
}

// median of a number of seconds in the beats that arrive, of those above 0.
func median(of []reading, number func(*checkpoint.Beat) float64) time.Duration {
	all := make([]time.Duration, 0, len(of))
	for _, r := range of {
		if r.arrives {
			if d := seconds(number(r.Beat)); d > 0 {
				all = append(all, d)
			}
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// longest of a number of seconds in all beats.
func longest(of []reading, number func(*checkpoint.Beat) float64) (d time.Duration) {
	for _, r := range of {
		d = max(d, seconds(number(r.Beat)))
	}
	return d
}

// seconds returns a number of a beat as a duration between 0 and maxSeconds; what is no number is 0.
func seconds(s float64) time.Duration {
	if !(s > 0) {
		return 0
	}
	return time.Duration(min(s, maxSeconds) * float64(time.Second))
}
