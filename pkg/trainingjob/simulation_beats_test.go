package trainingjob

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Simulated trainers of all ranks, whose agents send beats.

const (
	beatInterval = 30 * time.Second
	stepTime     = 2 * time.Second
)

// trainer is the trainer of one rank.
type trainer struct {
	uid  types.UID
	step int64 // -1: none finished yet
	// progressed is when it last made progress.
	progressed time.Time
	phase      checkpoint.Phase
	// silent: its agent sends no beats. behind: it does not finish the step that its peers have finished.
	silent, behind bool
	state          checkpoint.ProcessState
	stateSince     time.Time
	diskBytes      float64
}

// watch turns beats on for the ranks that are created from now on.
func (sim *simulation) watch(limit v1alpha1.LivenessMode) {
	sim.agent.MaxLiveness = limit
	sim.beatInterval, sim.stepTime = beatInterval, stepTime
	sim.hangs = &observation.Hangs{Watched: 10, Running: 10}
	sim.beats, sim.trainers = map[types.UID]observation.ReceivedBeat{}, map[string]*trainer{}
}

// sendBeatsFrom makes the agent of a new pod send beats, as the operator renders it.
func (sim *simulation) sendBeatsFrom(pod *corev1.Pod) {
	mode := spec.LivenessMode(sim.job, sim.agent.Liveness, sim.agent.MaxLiveness)
	if mode == v1alpha1.LivenessOff || observation.SendsBeats(pod) {
		return
	}
	c := &pod.Spec.Containers[0]
	c.Env = append(slices.Clone(c.Env), corev1.EnvVar{Name: checkpoint.EnvBeatFile})
}

// trainerOf returns the trainer of a running pod.
func (sim *simulation) trainerOf(name string) *trainer {
	pod := sim.findPod(name)
	tr := sim.trainers[name]
	if tr == nil || tr.uid != pod.UID {
		tr = &trainer{uid: pod.UID, step: -1, progressed: sim.now}
		sim.trainers[name] = tr
	}
	return tr
}

// runningTrainers returns the trainers of the ranks that train, by the names of their pods.
func (sim *simulation) runningTrainers() map[string]*trainer {
	running := map[string]*trainer{}
	for _, name := range sim.rankNames() {
		if p := sim.findPod(name); p.Status.Phase == corev1.PodRunning && !trainerEnded(p) &&
			p.DeletionTimestamp == nil {
			running[name] = sim.trainerOf(name)
		}
	}
	return running
}

// trainSteps lets all ranks finish steps since the last call, unless the gang is stalled.
func (sim *simulation) trainSteps(n int64) {
	if sim.stalled {
		return
	}
	for _, tr := range sim.runningTrainers() {
		tr.step, tr.progressed = max(tr.step, resumeStep(sim.job.Status))+n, sim.now
	}
}

// stall stops the training. The named ranks do not finish the step that the others still finish.
func (sim *simulation) stall(names ...string) {
	sim.trainSteps(1)
	for _, name := range names {
		tr := sim.trainerOf(name)
		tr.step, tr.behind = tr.step-1, true
	}
	sim.stalled = true
	sim.logf("the training stops; behind: %s", strings.Join(orAll(names, []string{"no rank"}), ", "))
}

// sendBeats sends a beat of each rank that is not silent.
func (sim *simulation) sendBeats() {
	for _, tr := range sim.runningTrainers() {
		if tr.silent {
			continue
		}
		b := checkpoint.Beat{
			Attempt: sim.job.Status.Attempt, IdleSeconds: sim.now.Sub(tr.progressed).Seconds(), Phase: tr.phase,
			Labels: true, State: tr.state, DiskBytesPerSecond: tr.diskBytes,
		}
		if tr.state != "" {
			b.StateSeconds = sim.now.Sub(tr.stateSince).Seconds()
		}
		if tr.step >= 0 {
			b.Step, b.StepSeconds, b.FirstStepSeconds = new(tr.step), sim.stepTime.Seconds(), 20
			b.Phase = cmp.Or(b.Phase, checkpoint.PhaseTraining)
		} else {
			b.Phase = cmp.Or(b.Phase, checkpoint.PhaseStarting)
		}
		sim.beats[tr.uid] = observation.ReceivedBeat{Beat: b, Received: sim.now}
	}
}

// pass lets time pass: the ranks train and send beats every interval, and the operator reconciles when it
// planned to. No beat causes a reconcile.
func (sim *simulation) pass(d time.Duration) {
	sim.t.Helper()
	sim.logf("%s pass", d)
	sim.passWhile(d, func() bool { return true })
}

// passWhileRunning is pass, until the job is not Running.
func (sim *simulation) passWhileRunning(d time.Duration) {
	sim.t.Helper()
	sim.logf("up to %s pass", d)
	sim.passWhile(d, func() bool { return sim.job.Status.Phase == v1alpha1.PhaseRunning })
}

func (sim *simulation) passWhile(d time.Duration, condition func() bool) {
	sim.t.Helper()
	end := sim.now.Add(d)
	for sim.now.Before(end) && condition() {
		beatAt := sim.now.Truncate(beatInterval).Add(beatInterval)
		next := beatAt
		for _, at := range []time.Time{end, sim.wake} {
			if at.After(sim.now) && at.Before(next) {
				next = at
			}
		}
		sim.now = next
		if next.Equal(beatAt) {
			sim.trainSteps(int64(beatInterval / sim.stepTime))
			sim.sendBeats()
		}
		if !sim.wake.IsZero() && !sim.wake.After(sim.now) {
			sim.converge()
		}
	}
}

// restartOperator makes another process the leader, which has received no beats and no reports.
func (sim *simulation) restartOperator() {
	sim.logf("(another process leads)")
	sim.departed, sim.report, sim.leadsSince = nil, nil, sim.now
	clear(sim.beats)
	sim.converge()
}

// logLiveness logs status.liveness and the condition Stalled.
func (sim *simulation) logLiveness() {
	st := sim.job.Status
	l := st.Liveness
	if l == nil {
		sim.logf("= no liveness")
		return
	}
	step := "none"
	if l.Step != nil {
		step = fmt.Sprint(*l.Step)
	}
	sim.logf("= liveness %q: idle %d s of %d s, step %s, %d/%d ranks report, %d restarts, %d in vain", l.State,
		l.IdleSeconds, l.LimitSeconds, step, l.ReportingRanks, l.WatchedRanks, l.Restarts,
		l.RestartsWithoutProgress)
	for _, s := range l.Suspects {
		sim.logf("=   suspect %s on %s: %s", s.Pod, s.Node, s.Evidence)
	}
	for _, n := range l.NamedNodes {
		sim.logf("=   %s was named %d times", n.Name, n.Times)
	}
	if c := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionStalled); c != nil {
		sim.logf("=   Stalled %s %s: %s", c.Status, c.Reason, c.Message)
	}
	if s := st.Scheduling; s != nil && s.Blocker != nil {
		sim.logf("=   %s: %s | %s", s.Blocker.Reason, s.Blocker.Message, s.Blocker.NextStep)
	}
}
