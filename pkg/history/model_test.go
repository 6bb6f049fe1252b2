package history

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// model plays the life of a job as the operator writes it (pkg/trainingjob/decision: table.go, settle.go and
// history.go; pkg/trainingjob/status: accounting.go and conditions.go), and remembers what was so.
type model struct {
	rng      *rand.Rand
	now      time.Time
	job      *v1alpha1.TrainingJob
	versions []*v1alpha1.TrainingJob
	truth    truth
}

// truth is everything that happened, of which a status keeps a part.
type truth struct {
	transitions []Transition
	lost        map[int32]Loss
	preempted   map[int32]string  // by attempt: the message
	reasons     map[int32]string  // for which attempts ended, settled
	made        map[int32][]int64 // GPUs of the gang; a job that is suspended in its queue may be resized
	sampled     map[int32]map[int64]bool
}

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// play makes a history, from the creation of the job on.
func play(seed uint64) *model {
	m := newModel(seed)
	for range 20 + m.rng.IntN(150) {
		if m.job.Status.Phase.Finished() {
			break
		}
		m.step()
	}
	return m
}

func newModel(seed uint64) *model {
	m := &model{rng: rand.New(rand.NewPCG(seed, 7)), now: epoch}
	m.truth = truth{
		lost: map[int32]Loss{}, preempted: map[int32]string{}, reasons: map[int32]string{}, made: map[int32][]int64{},
		sampled: map[int32]map[int64]bool{},
	}
	m.job = &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{
		Name: "bert", Namespace: "team-a", UID: types.UID(fmt.Sprintf("uid-%d", seed)), ResourceVersion: "7",
		CreationTimestamp: metav1.NewTime(epoch), Labels: map[string]string{"owner": "ada"},
	}}
	m.job.Spec.RunPolicy.SchedulingPolicy.Queue = "research"
	m.write()
	return m
}

// write is one write of the object. Every second or so has another resource version of another length.
func (m *model) write() {
	version, _ := strconv.Atoi(m.job.ResourceVersion)
	m.job.ResourceVersion = strconv.Itoa(version + 1 + m.rng.IntN(30))
	m.versions = append(m.versions, m.job.DeepCopy())
}

func (m *model) enter(phase v1alpha1.Phase, reason string) {
	st := &m.job.Status
	st.Phase = phase
	at := metav1.NewTime(m.now)
	st.Transitions = capped(append(st.Transitions, v1alpha1.Transition{Time: at, Phase: phase, Reason: reason}))
	t := Transition{Time: m.now, Phase: phase, Reason: reason, Attempt: max(1, st.Attempt)}
	for _, earlier := range m.truth.transitions {
		if sameButNth(earlier, t) {
			t.Nth++
		}
	}
	m.truth.transitions = append(m.truth.transitions, t)
	if phase.Finished() {
		st.CompletionTime = &at
		m.truth.reasons[st.Attempt] = reason
	}
	if phase == v1alpha1.PhaseRunning || phase.Finished() {
		m.setPreempted(metav1.ConditionFalse, string(phase), "over")
	}
	m.write()
}

// capped is what decision/history.go does.
func capped(ts []v1alpha1.Transition) []v1alpha1.Transition {
	for len(ts) > 20 {
		run, suspension := lastEntry(ts, v1alpha1.PhaseRunning), lastEntry(ts, v1alpha1.PhaseSuspended)
		oldest := 0
		for oldest == suspension || run >= 0 && (oldest == run || oldest == run+1) {
			oldest++
		}
		ts = slices.Delete(slices.Clone(ts), oldest, oldest+1)
	}
	return ts
}

func (m *model) setPreempted(status metav1.ConditionStatus, reason, message string) {
	if status == metav1.ConditionFalse && !meta.IsStatusConditionTrue(m.job.Status.Conditions, "Preempted") {
		return
	}
	meta.SetStatusCondition(&m.job.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionPreempted, Status: status, Reason: reason, Message: message,
		LastTransitionTime: metav1.NewTime(m.now),
	})
}

// queue begins an attempt as startAttempt does.
func (m *model) queue(reason string) {
	st := &m.job.Status
	st.Attempt = max(1, st.Attempt)
	m.made()
	m.enter(v1alpha1.PhaseQueued, reason)
}

// made is what the scheduler is told of the attempt; a user may have resized the job.
func (m *model) made() {
	st := &m.job.Status
	st.Replicas = 2 + m.rng.Int32N(3)
	st.GPUs = 2 * int64(st.Replicas)
	st.Scheduling = &v1alpha1.SchedulingStatus{Queue: "research"}
	m.truth.made[st.Attempt] = append(m.truth.made[st.Attempt], st.GPUs)
}

func (m *model) step() {
	if m.rng.IntN(3) > 0 {
		m.now = m.now.Add(time.Duration(m.rng.IntN(90)) * time.Second)
	}
	chance := m.rng.IntN(10)
	switch m.job.Status.Phase {
	case "", v1alpha1.PhasePending:
		m.begin(chance)
	case v1alpha1.PhaseSuspended:
		if chance == 0 && m.rng.IntN(8) == 0 {
			m.enter(v1alpha1.PhaseFailed, v1alpha1.ReasonInvalidSpec)
			return
		}
		m.queue(v1alpha1.ReasonResumed)
	case v1alpha1.PhaseQueued:
		m.wait(chance)
	case v1alpha1.PhaseStarting:
		if chance < 7 {
			m.enter(v1alpha1.PhaseRunning, v1alpha1.ReasonGangRunning)
			return
		}
		m.drain()
	case v1alpha1.PhaseRunning:
		m.run(chance)
	case v1alpha1.PhaseDraining:
		m.settle(chance)
	case v1alpha1.PhaseRestarting:
		if chance == 0 {
			m.enter(v1alpha1.PhaseSuspended, v1alpha1.ReasonSuspended)
			return
		}
		m.made()
		m.enter(v1alpha1.PhaseQueued, v1alpha1.ReasonBackoffOver)
	}
}

func (m *model) begin(chance int) {
	switch {
	case chance == 0 && m.job.Status.Phase == "":
		m.enter(v1alpha1.PhasePending, v1alpha1.ReasonSchedulerMissing)
	case chance == 1:
		m.enter(v1alpha1.PhaseSuspended, v1alpha1.ReasonSuspended)
	case chance == 2 && m.rng.IntN(4) == 0:
		m.enter(v1alpha1.PhaseFailed, v1alpha1.ReasonInvalidSpec)
	default:
		m.queue(v1alpha1.ReasonQueued)
	}
}

func (m *model) wait(chance int) {
	switch chance {
	case 0, 1:
		m.enter(v1alpha1.PhaseSuspended, v1alpha1.ReasonSuspended)
	case 2, 3:
		m.enter(v1alpha1.PhaseStarting, v1alpha1.ReasonPlaced)
	case 4, 5:
		m.drain()
	case 6: // a blocker changes
		m.job.Status.Message = fmt.Sprintf("waits behind %d others", m.rng.IntN(9))
		m.write()
	default:
		m.enter(v1alpha1.PhaseRunning, v1alpha1.ReasonGangRunning)
	}
}

func (m *model) run(chance int) {
	st := &m.job.Status
	switch {
	case chance < 4:
		from := int64(0)
		if p := st.Progress; p != nil {
			from = p.Step
		}
		m.report(from + m.rng.Int64N(50))
		m.write()
	case chance == 4:
		m.job.Status.Checkpoint = &v1alpha1.CheckpointStatus{ResumeFrom: resumeFrom(st), Latest: m.saved()}
		m.write()
	case chance == 5 && m.rng.IntN(8) == 0:
		m.enter(v1alpha1.PhaseSucceeded, v1alpha1.ReasonCompleted)
	case chance == 6 && m.rng.IntN(8) == 0:
		m.enter(v1alpha1.PhaseFailed, v1alpha1.ReasonDeadlineExceeded)
	default:
		m.drain()
	}
}

func resumeFrom(st *v1alpha1.TrainingJobStatus) *v1alpha1.CheckpointPoint {
	if st.Checkpoint == nil {
		return nil
	}
	return st.Checkpoint.ResumeFrom
}

// report is progress of the current attempt. That of the last one stays in the status until it comes.
func (m *model) report(step int64) {
	st := &m.job.Status
	st.Progress = &v1alpha1.ProgressStatus{
		Attempt: st.Attempt, Step: step, ReportedTime: metav1.NewTime(m.now),
		Metrics: map[string]string{"loss": strconv.Itoa(m.rng.IntN(1000))},
	}
	if m.truth.sampled[st.Attempt] == nil {
		m.truth.sampled[st.Attempt] = map[int64]bool{}
	}
	m.truth.sampled[st.Attempt][step] = true
}

func (m *model) saved() *v1alpha1.CheckpointPoint {
	step := int64(1)
	if c := m.job.Status.Checkpoint; c != nil && c.Latest != nil {
		step = c.Latest.Step + 1 + m.rng.Int64N(100)
	}
	at := metav1.NewTime(m.now)
	uri := fmt.Sprintf("pvc://claim/attempt-%d/step-%d", m.job.Status.Attempt, step)
	return &v1alpha1.CheckpointPoint{URI: uri, Step: step, Time: &at}
}

var causes = []v1alpha1.DrainStatus{
	{Cause: v1alpha1.CauseFailure, Reason: v1alpha1.ReasonRankFailed, Message: "bert-worker-1 exited with 1"},
	{Cause: v1alpha1.CauseDisruption, Reason: v1alpha1.ReasonPreempted,
		Message: "bert-worker-0: preempting to accommodate a higher priority pod (and 1 rank more); all are ended"},
	{Cause: v1alpha1.CauseDisruption, Reason: v1alpha1.ReasonNodeLost, Message: "node gpu-1 is lost"},
	{Cause: v1alpha1.CauseEviction, Reason: "QueueStopped", Message: "kueue takes the gang's places back"},
	{Cause: v1alpha1.CauseSuspend, Reason: v1alpha1.ReasonSuspended, Message: "suspending"},
	{Cause: v1alpha1.CauseSpecChange, Reason: v1alpha1.ReasonSpecChanged, Message: "the spec has changed"},
	{Cause: v1alpha1.CauseScheduleTimeout, Reason: v1alpha1.ReasonScheduleTimeout, Message: "not placed"},
}

func (m *model) drain() {
	cause := causes[m.rng.IntN(len(causes))]
	if m.rng.IntN(20) == 0 && m.job.Status.Phase == v1alpha1.PhaseRunning {
		m.now = m.now.Add(-2 * time.Second) // another machine leads, with another clock
	}
	cause.Message += fmt.Sprintf(" (%d)", len(m.versions))
	m.job.Status.Drain = &cause
	m.enter(v1alpha1.PhaseDraining, cause.Reason)
}

// settle ends the attempt. The loss of a node may prove to be the cause before.
func (m *model) settle(chance int) {
	st, d := &m.job.Status, m.job.Status.Drain
	if d.Cause == v1alpha1.CauseFailure && chance == 0 {
		cause := causes[2]
		st.Drain = &cause
		m.write() // no transition
		return
	}
	if chance == 1 && m.rng.IntN(6) == 0 {
		st.Drain = nil
		m.enter(v1alpha1.PhaseSucceeded, v1alpha1.ReasonCompleted)
		return
	}
	m.lose(Loss{Steps: m.rng.Int64N(3), Seconds: m.rng.Int64N(60), GPUSeconds: m.rng.Int64N(600)})
	st.Drain = nil
	if d.Cause == v1alpha1.CauseFailure && chance == 2 {
		m.enter(v1alpha1.PhaseFailed, v1alpha1.ReasonBackoffLimit)
		return
	}
	if c := st.Checkpoint; c != nil {
		c.ResumeFrom = c.Latest
	}
	m.truth.reasons[st.Attempt] = d.Reason
	if d.Cause == v1alpha1.CauseDisruption || d.Cause == v1alpha1.CauseEviction {
		st.Preemptions++
		m.truth.preempted[st.Attempt] = d.Message
		m.setPreempted(metav1.ConditionTrue, d.Reason, d.Message)
	}
	st.Attempt++
	switch {
	case d.Cause == v1alpha1.CauseSuspend:
		st.Scheduling = nil
		m.enter(v1alpha1.PhaseSuspended, v1alpha1.ReasonSuspended)
	case chance < 6:
		m.enter(v1alpha1.PhaseRestarting, d.Reason)
	default:
		m.made()
		m.enter(v1alpha1.PhaseQueued, d.Reason)
	}
}

func (m *model) lose(l Loss) {
	st := &m.job.Status
	m.truth.lost[st.Attempt] = l
	if st.Work == nil {
		st.Work = &v1alpha1.WorkStatus{}
	}
	st.Work.LostSteps += l.Steps
	st.Work.LostSeconds += l.Seconds
	st.Work.LostGPUSeconds += l.GPUSeconds
}

var options = Options{UserKeys: []string{"owner"}, GPUKind: func(job *v1alpha1.TrainingJob) string {
	if job.Status.Phase == v1alpha1.PhaseRunning {
		return "NVIDIA-A100"
	}
	return "nvidia.com/gpu"
}}

func (m *model) records() []Record {
	rs := make([]Record, len(m.versions))
	for i, v := range m.versions {
		rs[i] = Of("lab", v, options)
	}
	return rs
}

// joined merges records in the order in which they are given.
func joined(rs ...Record) Record {
	var all Record
	for _, r := range rs {
		all = Merge(all, r)
	}
	return all
}

// TestModelReachesAll shows that the histories are worth something.
func TestModelReachesAll(t *testing.T) {
	reached := map[string]int{}
	for seed := range uint64(200) {
		m := play(seed)
		reached["phase "+string(m.job.Status.Phase)]++
		if len(m.truth.transitions) > 60 {
			reached["histories of three times what a status keeps"]++
		}
		if attributed(&m.job.Status)[0] == 0 {
			reached["histories with a gap"]++
		}
		if len(m.truth.preempted) > 2 {
			reached["histories with preemptions"]++
		}
	}
	for _, what := range []string{"phase Succeeded", "phase Failed", "histories with preemptions",
		"histories of three times what a status keeps", "histories with a gap"} {
		if reached[what] < 5 {
			t.Errorf("%s: %d, of %v", what, reached[what], reached)
		}
	}
}
