package observation

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/liveness"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

const (
	// unknownLook is how often the operator looks at a gang whose ranks report no progress.
	unknownLook = time.Minute
	// unfinishedMargin is how long before the beat of a rank, at least, another rank must have finished a step
	// that the first one has not: the ranks of a pipeline finish a step one after another.
	unfinishedMargin = 30 * time.Second
)

// Liveness is what the beats of a running gang show.
type Liveness struct {
	liveness.Verdict
	// Early: the gang or this process has run too short a time to receive the beats of all ranks.
	Early bool
}

// livenessOf judges a running gang. It returns nil for a gang that is not watched: in mode Off, without a
// report server, and if a rank that trains is older than the mode, since its agent sends no beats.
func livenessOf(o *Observation) *Liveness {
	st := &o.Job.Status
	if o.LivenessMode == v1alpha1.LivenessOff || st.Phase != v1alpha1.PhaseRunning || o.BeatInterval <= 0 {
		return nil
	}
	g := liveness.Gang{
		Running: o.Now.Sub(o.PhaseSince()), Interval: o.BeatInterval, Limits: spec.LivenessLimits(o.Job),
		Past: liveness.Past{LongestPause: liveness.Halved(RecordedPause(o)), Step: recordedStep(st.Liveness)},
	}
	leads := o.Leads()
	for i := range o.Ranks {
		r := &o.Ranks[i]
		if r.State != RankRunning {
			continue
		}
		rank := liveness.Rank{
			Pod: r.Pod.Name, Node: r.Pod.Spec.NodeName, NodeReady: o.Nodes[r.Pod.Spec.NodeName].Ready,
			Trains: spec.Trains(o.Job, r.Role), Age: min(leads, g.Running),
		}
		if rank.Trains && !SendsBeats(r.Pod) {
			return nil
		}
		if b, has := o.beatOf(r.Pod); has {
			rank.Beat, rank.Age = &b.Beat, max(0, o.Now.Sub(b.Received))
		}
		g.Ranks = append(g.Ranks, rank)
	}
	l := &Liveness{
		Verdict: liveness.Judge(g), Early: min(leads, g.Running) <= liveness.SilentAfter*o.BeatInterval,
	}
	if l.State == v1alpha1.LivenessHung && leads < liveness.JudgedAfter*o.BeatInterval {
		l.State = v1alpha1.LivenessUnknown
	}
	return l
}

// Leads returns for how long this process has led.
func (o *Observation) Leads() time.Duration { return o.Now.Sub(o.LeadsSince) }

// SendsBeats reports whether the agent in a pod sends beats.
func SendsBeats(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == checkpoint.EnvBeatFile })
	})
}

// beatOf returns the last beat of a pod in the current attempt.
func (o *Observation) beatOf(pod *corev1.Pod) (ReceivedBeat, bool) {
	if pod == nil {
		return ReceivedBeat{}, false
	}
	b, has := o.Beats[pod.UID]
	return b, has && b.Attempt == o.Job.Status.Attempt
}

// RecordedPause returns the longest pause that the status records, and its age.
func RecordedPause(o *Observation) (pause, age time.Duration) {
	l := o.Job.Status.Liveness
	if l == nil || l.LongestPauseTime == nil {
		return 0, 0
	}
	return time.Duration(l.LongestPauseSeconds) * time.Second, o.Now.Sub(l.LongestPauseTime.Time)
}

func recordedStep(l *v1alpha1.LivenessStatus) time.Duration {
	if l == nil {
		return 0
	}
	return time.Duration(l.StepMilliseconds) * time.Millisecond
}

// NextLook returns when the beats of the gang can show something else, if no rank sends another one. It
// returns false for a gang that is not watched.
func (o *Observation) NextLook() (time.Time, bool) {
	l := o.Liveness
	if l == nil {
		return time.Time{}, false
	}
	next := l.Next
	if l.State == v1alpha1.LivenessUnknown && !l.Early {
		next = max(next, unknownLook)
	}
	return o.Now.Add(next), true
}

// StoppedAt returns when the gang of a status made its last progress; zero if that is unknown.
func StoppedAt(l *v1alpha1.LivenessStatus) time.Time {
	if l == nil || l.ObservedTime == nil {
		return time.Time{}
	}
	return l.ObservedTime.Add(-time.Duration(l.IdleSeconds) * time.Second)
}

// HighestStep returns the highest step that a rank has finished in the attempt.
func (o *Observation) HighestStep() (step int64, known bool) {
	if l := o.Liveness; l != nil && l.Step != nil {
		step, known = *l.Step, true
	}
	if r := o.Checkpoints.Report; r != nil && r.FirstStep != nil {
		step, known = max(step, r.Step), true
	}
	return step, known
}

// Unfinished returns the pods of the ranks that, by their beats, had not finished a step long after another
// rank had, and that step; none if that holds for more than one rank and a tenth of them.
func (o *Observation) Unfinished() (pods []string, step int64) {
	var finished time.Time // when a rank had finished the highest step
	var watched int
	for i := range o.Ranks {
		r := &o.Ranks[i]
		b, has := o.beatOf(r.LastPod())
		if !has || !spec.Trains(o.Job, r.Role) {
			continue
		}
		watched++
		if b.Step == nil {
			continue
		}
		at := b.Received.Add(-seconds(b.IdleSeconds))
		if finished.IsZero() || *b.Step > step || *b.Step == step && at.Before(finished) {
			step, finished = *b.Step, at
		}
	}
	for i := range o.Ranks {
		r := &o.Ranks[i]
		b, has := o.beatOf(r.LastPod())
		if !has || b.Step == nil || *b.Step >= step || !spec.Trains(o.Job, r.Role) {
			continue
		}
		if b.Received.Sub(finished) >= max(unfinishedMargin, 3*seconds(b.StepSeconds)) {
			pods = append(pods, r.LastPod().Name)
		}
	}
	if len(pods) > max(1, watched/10) {
		return nil, 0
	}
	return pods, step
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
