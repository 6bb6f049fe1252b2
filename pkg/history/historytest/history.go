// Package historytest generates histories of jobs: the statuses that the operator would write and, for
// comparison, everything that happened. The same seed generates the same history.
package historytest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Epoch is when every job was created.
var Epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// History of a job, as the operator writes it (pkg/trainingjob: decision/table.go, settle.go and history.go;
// account/work.go; status/conditions.go).
type History struct {
	// Versions of the job in their order, the first without a status.
	Versions []*v1alpha1.TrainingJob
	Truth    Truth
	// End is the time of the last version.
	End time.Time

	rng *rand.Rand
	job *v1alpha1.TrainingJob
}

// Truth is everything that happened, of which a status keeps a part. Maps are by attempt.
type Truth struct {
	Transitions []Transition
	Lost        map[int32]Loss
	// Preempted are the messages of disruptions.
	Preempted map[int32]string
	// Reasons for which attempts ended, settled.
	Reasons map[int32]string
	// GPUs of the gang. A user can resize a job that is suspended in its queue.
	GPUs map[int32][]int64
	// Sampled steps.
	Sampled map[int32]map[int64]bool
	// Yielded at the end of an attempt for other gangs, and Freed for one by others.
	Yielded map[int32]Yielded
	Freed   map[int32]FreedCapacity
}

// Transition and the attempt in which it happened.
type Transition struct {
	v1alpha1.Transition
	Attempt int32
}

// Loss at the end of an attempt.
type Loss struct{ Steps, Seconds, GPUSeconds int64 }

// Yielded is how often a trainer was asked for a checkpoint and wrote one, and the GPU-seconds that were
// still lost.
type Yielded struct {
	Asked, Saved   int32
	LostGPUSeconds int64
}

// FreedCapacity is how often others freed capacity, and for how many seconds the gang had waited for it.
type FreedCapacity struct {
	Made    int32
	Seconds int64
}

// Play generates a history. Some have ended, some continue. Many are longer than what a status keeps.
func Play(seed uint64) *History {
	l := newHistory(seed)
	for range 20 + l.rng.IntN(150) {
		if l.job.Status.Phase.Finished() {
			break
		}
		l.step()
	}
	return l
}

func newHistory(seed uint64) *History {
	l := &History{rng: rand.New(rand.NewPCG(seed, 7)), End: Epoch}
	l.Truth = Truth{
		Lost: map[int32]Loss{}, Preempted: map[int32]string{}, Reasons: map[int32]string{},
		GPUs: map[int32][]int64{}, Sampled: map[int32]map[int64]bool{},
		Yielded: map[int32]Yielded{}, Freed: map[int32]FreedCapacity{},
	}
	l.job = &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{
		Name: "bert", Namespace: "team-a", UID: types.UID(fmt.Sprintf("uid-%d", seed)), ResourceVersion: "7",
		CreationTimestamp: metav1.NewTime(Epoch), Labels: map[string]string{"owner": "ada"},
	}}
	l.job.Spec.RunPolicy.SchedulingPolicy.Queue = "research"
	l.write()
	return l
}

// write is one write of the object. The resource versions have different lengths.
func (l *History) write() {
	version, _ := strconv.Atoi(l.job.ResourceVersion)
	l.job.ResourceVersion = strconv.Itoa(version + 1 + l.rng.IntN(30))
	l.Versions = append(l.Versions, l.job.DeepCopy())
}

func (l *History) enter(phase v1alpha1.Phase, reason string) {
	st := &l.job.Status
	st.Phase = phase
	at := metav1.NewTime(l.End)
	st.Transitions = Kept(append(st.Transitions, v1alpha1.Transition{Time: at, Phase: phase, Reason: reason}))
	l.Truth.Transitions = append(l.Truth.Transitions, Transition{
		v1alpha1.Transition{Time: at, Phase: phase, Reason: reason}, max(1, st.Attempt),
	})
	if phase.Finished() {
		st.CompletionTime = &at
		l.Truth.Reasons[st.Attempt] = reason
	}
	if phase == v1alpha1.PhaseRunning || phase.Finished() {
		l.setPreempted(metav1.ConditionFalse, string(phase), "over")
	}
	l.write()
}

// Kept returns the transitions that a status keeps, as in decision/history.go.
func Kept(ts []v1alpha1.Transition) []v1alpha1.Transition {
	for len(ts) > 20 {
		run, suspension := spec.LastEntry(ts, v1alpha1.PhaseRunning), spec.LastEntry(ts, v1alpha1.PhaseSuspended)
		oldest := 0
		for oldest == suspension || run >= 0 && (oldest == run || oldest == run+1) {
			oldest++
		}
		ts = slices.Delete(slices.Clone(ts), oldest, oldest+1)
	}
	return ts
}
func (l *History) setPreempted(status metav1.ConditionStatus, reason, message string) {
	if status == metav1.ConditionFalse && !meta.IsStatusConditionTrue(l.job.Status.Conditions, "Preempted") {
		return
	}
	meta.SetStatusCondition(&l.job.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionPreempted, Status: status, Reason: reason, Message: message,
		LastTransitionTime: metav1.NewTime(l.End),
	})
}

// queue begins an attempt, as startAttempt does.
func (l *History) queue(reason string) {
	st := &l.job.Status
	st.Attempt = max(1, st.Attempt)
	l.made()
	l.enter(v1alpha1.PhaseQueued, reason)
}

// made sets what the scheduler receives for the attempt; a user can have resized the job.
func (l *History) made() {
	st := &l.job.Status
	st.Replicas = 2 + l.rng.Int32N(3)
	st.GPUs = 2 * int64(st.Replicas)
	st.Scheduling = &v1alpha1.SchedulingStatus{Queue: "research"}
	l.Truth.GPUs[st.Attempt] = append(l.Truth.GPUs[st.Attempt], st.GPUs)
}

func (l *History) step() {
	if l.rng.IntN(3) > 0 {
		l.End = l.End.Add(time.Duration(l.rng.IntN(90)) * time.Second)
	}
	chance := l.rng.IntN(10)
	switch l.job.Status.Phase {
	case "", v1alpha1.PhasePending:
		l.begin(chance)
	case v1alpha1.PhaseSuspended:
		if chance == 0 && l.rng.IntN(8) == 0 {
			l.enter(v1alpha1.PhaseFailed, v1alpha1.ReasonInvalidSpec)
			return
		}
		l.queue(v1alpha1.ReasonResumed)
	case v1alpha1.PhaseQueued:
		l.wait(chance)
	case v1alpha1.PhaseStarting:
		if chance < 7 {
			l.enter(v1alpha1.PhaseRunning, v1alpha1.ReasonGangRunning)
			return
		}
		l.drain()
	case v1alpha1.PhaseRunning:
		l.run(chance)
	case v1alpha1.PhaseDraining:
		l.settle(chance)
	case v1alpha1.PhaseRestarting:
		if chance == 0 {
			l.enter(v1alpha1.PhaseSuspended, v1alpha1.ReasonSuspended)
			return
		}
		l.made()
		l.enter(v1alpha1.PhaseQueued, v1alpha1.ReasonBackoffOver)
	}
}

func (l *History) begin(chance int) {
	switch {
	case chance == 0 && l.job.Status.Phase == "":
		l.enter(v1alpha1.PhasePending, v1alpha1.ReasonSchedulerMissing)
	case chance == 1:
		l.enter(v1alpha1.PhaseSuspended, v1alpha1.ReasonSuspended)
	case chance == 2 && l.rng.IntN(4) == 0:
		l.enter(v1alpha1.PhaseFailed, v1alpha1.ReasonInvalidSpec)
	default:
		l.queue(v1alpha1.ReasonQueued)
	}
}

func (l *History) wait(chance int) {
	switch chance {
	case 0, 1:
		l.enter(v1alpha1.PhaseSuspended, v1alpha1.ReasonSuspended)
	case 2, 3:
		l.freesCapacity()
		l.enter(v1alpha1.PhaseStarting, v1alpha1.ReasonPlaced)
	case 4, 5:
		l.drain()
	case 6: // a blocker changes
		l.job.Status.Message = fmt.Sprintf("waits behind %d others", l.rng.IntN(9))
		l.write()
	default:
		l.freesCapacity()
		l.enter(v1alpha1.PhaseRunning, v1alpha1.ReasonGangRunning)
	}
}

// freesCapacity sometimes has other gangs free capacity for the gang that is placed.
func (l *History) freesCapacity() {
	if l.rng.IntN(2) == 0 {
		return
	}
	r := FreedCapacity{Made: 1, Seconds: l.rng.Int64N(120)}
	w := l.work()
	w.RoomMade, w.RoomSeconds = w.RoomMade+r.Made, w.RoomSeconds+r.Seconds
	had := l.Truth.Freed[l.job.Status.Attempt] // it can have been suspended while it started
	l.Truth.Freed[l.job.Status.Attempt] = FreedCapacity{
		Made: had.Made + r.Made, Seconds: had.Seconds + r.Seconds,
	}
}

func (l *History) run(chance int) {
	st := &l.job.Status
	switch {
	case chance < 4:
		from := int64(0)
		if p := st.Progress; p != nil {
			from = p.Step
		}
		l.report(from + l.rng.Int64N(50))
		l.write()
	case chance == 4:
		l.job.Status.Checkpoint = &v1alpha1.CheckpointStatus{ResumeFrom: resumeFrom(st), Latest: l.saved()}
		l.write()
	case chance == 5 && l.rng.IntN(8) == 0:
		l.enter(v1alpha1.PhaseSucceeded, v1alpha1.ReasonCompleted)
	case chance == 6 && l.rng.IntN(8) == 0:
		l.enter(v1alpha1.PhaseFailed, v1alpha1.ReasonDeadlineExceeded)
	default:
		l.drain()
	}
}

func resumeFrom(st *v1alpha1.TrainingJobStatus) *v1alpha1.CheckpointPoint {
	if st.Checkpoint == nil {
		return nil
	}
	return st.Checkpoint.ResumeFrom
}

// report sets the progress of the current attempt. The status keeps that of the last one until then.
func (l *History) report(step int64) {
	st := &l.job.Status
	st.Progress = &v1alpha1.ProgressStatus{
		Attempt: st.Attempt, Step: step, ReportedTime: metav1.NewTime(l.End),
		Metrics: map[string]string{"loss": strconv.Itoa(l.rng.IntN(1000))},
	}
	if l.Truth.Sampled[st.Attempt] == nil {
		l.Truth.Sampled[st.Attempt] = map[int64]bool{}
	}
	l.Truth.Sampled[st.Attempt][step] = true
}

func (l *History) saved() *v1alpha1.CheckpointPoint {
	step := int64(1)
	if c := l.job.Status.Checkpoint; c != nil && c.Latest != nil {
		step = c.Latest.Step + 1 + l.rng.Int64N(100)
	}
	at := metav1.NewTime(l.End)
	uri := fmt.Sprintf("pvc://claim/attempt-%d/step-%d", l.job.Status.Attempt, step)
	return &v1alpha1.CheckpointPoint{URI: uri, Step: step, Time: &at}
}

var causes = []v1alpha1.DrainStatus{
	{Cause: v1alpha1.CauseFailure, Reason: v1alpha1.ReasonRankFailed, Message: "bert-worker-1 exited with 1"},
	{Cause: v1alpha1.CauseDisruption, Reason: v1alpha1.ReasonPreempted,
		Message: "bert-worker-0: preempting to accommodate a higher priority pod (and 1 rank more); all are ended"},
	{Cause: v1alpha1.CauseDisruption, Reason: v1alpha1.ReasonNodeLost, Message: "node gpu-1 is lost"},
	{Cause: v1alpha1.CauseEviction, Reason: "QueueStopped", Message: "kueue evicts the gang"},
	{Cause: v1alpha1.CauseBrokered, Reason: v1alpha1.ReasonMakesRoom,
		Message: "yields to job urgent, which has a higher priority"},
	{Cause: v1alpha1.CauseHandOver, Reason: v1alpha1.ReasonHandedOver, Message: "no capacity was freed"},
	{Cause: v1alpha1.CauseSuspend, Reason: v1alpha1.ReasonSuspended, Message: "suspending"},
	{Cause: v1alpha1.CauseSpecChange, Reason: v1alpha1.ReasonSpecChanged, Message: "the spec has changed"},
	{Cause: v1alpha1.CauseHang, Reason: v1alpha1.ReasonGangHung, Message: "no rank has made progress for 16m"},
	{Cause: v1alpha1.CauseScheduleTimeout, Reason: v1alpha1.ReasonScheduleTimeout, Message: "not placed"},
	{Cause: v1alpha1.CauseRehearsal, Reason: v1alpha1.ReasonRehearsalPlayed, Message: "rehearsal"},
}

func (l *History) drain() {
	cause := causes[l.rng.IntN(len(causes))]
	if l.rng.IntN(20) == 0 && l.job.Status.Phase == v1alpha1.PhaseRunning {
		l.End = l.End.Add(-2 * time.Second) // the new leader has another clock
	}
	cause.Message += fmt.Sprintf(" (%d)", len(l.Versions))
	l.job.Status.Drain = &cause
	l.enter(v1alpha1.PhaseDraining, cause.Reason)
}

// settle ends the attempt. The cause can first be the loss of a node.
func (l *History) settle(chance int) {
	st, d := &l.job.Status, l.job.Status.Drain
	if d.Cause == v1alpha1.CauseFailure && chance == 0 {
		cause := causes[2]
		st.Drain = &cause
		l.write() // no transition
		return
	}
	if chance == 1 && l.rng.IntN(6) == 0 {
		st.Drain = nil
		l.enter(v1alpha1.PhaseSucceeded, v1alpha1.ReasonCompleted)
		return
	}
	lost := Loss{Steps: l.rng.Int64N(3), Seconds: l.rng.Int64N(60), GPUSeconds: l.rng.Int64N(600)}
	l.lose(lost)
	if d.Cause == v1alpha1.CauseBrokered {
		l.yield(lost)
	}
	st.Drain = nil
	if d.Cause == v1alpha1.CauseFailure && chance == 2 {
		l.enter(v1alpha1.PhaseFailed, v1alpha1.ReasonBackoffLimit)
		return
	}
	if c := st.Checkpoint; c != nil {
		c.ResumeFrom = c.Latest
	}
	l.Truth.Reasons[st.Attempt] = d.Reason
	switch d.Cause {
	case v1alpha1.CauseDisruption, v1alpha1.CauseEviction, v1alpha1.CauseBrokered:
		st.Preemptions++
		l.Truth.Preempted[st.Attempt] = d.Message
		l.setPreempted(metav1.ConditionTrue, d.Reason, d.Message)
	}
	st.Attempt++
	switch {
	case d.Cause == v1alpha1.CauseSuspend:
		st.Scheduling = nil
		l.enter(v1alpha1.PhaseSuspended, v1alpha1.ReasonSuspended)
	case chance < 6:
		l.enter(v1alpha1.PhaseRestarting, d.Reason)
	default:
		l.made()
		l.enter(v1alpha1.PhaseQueued, d.Reason)
	}
}

func (l *History) lose(lost Loss) {
	st := &l.job.Status
	l.Truth.Lost[st.Attempt] = lost
	w := l.work()
	w.LostSteps += lost.Steps
	w.LostSeconds += lost.Seconds
	w.LostGPUSeconds += lost.GPUSeconds
}

// yield to another gang. Not every trainer is asked for a checkpoint first.
func (l *History) yield(lost Loss) {
	y := Yielded{LostGPUSeconds: lost.GPUSeconds}
	if l.rng.IntN(3) > 0 {
		y.Asked = 1
		if lost.Steps == 0 {
			y.Saved = 1
		}
	}
	l.Truth.Yielded[l.job.Status.Attempt] = y
	w := l.work()
	w.Asked, w.Saved = w.Asked+y.Asked, w.Saved+y.Saved
	w.PreemptedLostGPUSeconds += y.LostGPUSeconds
}

func (l *History) work() *v1alpha1.WorkStatus {
	if l.job.Status.Work == nil {
		l.job.Status.Work = &v1alpha1.WorkStatus{}
	}
	return l.job.Status.Work
}
