package trainingjob

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// simulation is a cluster in memory with one job. It simulates API server, scheduler and kubelets, applies
// plans as the controller does, checks the invariants after every plan, and logs all events.
type simulation struct {
	t   testing.TB
	log strings.Builder
	now time.Time

	// Input of snapshots.
	job              *v1alpha1.TrainingJob
	pods             []*corev1.Pod // resolvers included
	departed         []*corev1.Pod
	nodes            map[string]observation.NodeState
	domains          map[string]string // of the nodes, by name; others have none
	backend          scheduler.Backend
	schedulerProblem *v1alpha1.Blocker
	verdict          scheduler.Verdict
	explanation      *scheduler.Explanation // nil: the state of the cluster gives no reason
	unplaceable      *scheduler.Explanation // nil: a node can take its ranks
	woken            observation.Woken
	waiting, running int                        // jobs in the cluster
	otherReason      *observation.OtherReason   // of the last decision
	clusterUnknown   bool                       // the caches have not synced
	preemption       *v1alpha1.PreemptionStatus // nil: no plan
	brokers          bool                       // preemption is enabled
	waitingClass     string                     // of the job's class
	classProblem     string                     // why the class has none
	giveWay          *observation.GiveWay       // nil: not a victim
	ahead            *observation.SaveAhead     // nil: no early save
	roomReserved     bool
	backfill         *observation.Backfill // nil: unknown
	createBackoff    *observation.CreateBackoff
	agent            render.Agent
	lifecycle        observation.Lifecycle
	report           *observation.Reported

	// Results of the last plans.
	groupExists bool
	names       map[int]types.UID // of the ranks, by number
	namesOf     int32             // the attempt of the names; 0: no names
	jobDeleted  bool
	wake        time.Time

	// volume has the checkpoints on the job's claim, oldest first.
	volume []savedCheckpoint
	// trainedStep is the last step of the trainer in random histories.
	trainedStep int64
	// mlflow is mlflow.trackingURI of the operator.
	mlflow string
	// devices that the ranks request by device classes.
	devices render.Devices
	// resumePaths are the resume paths of the ranks, by attempt.
	resumePaths map[int32]string
	// chosen counts the resume points that the user chose.
	chosen int
	// trainedAttempt is the attempt that trained trainedStep.
	trainedAttempt int32
	// resumeReasons counts resume points by the reason of CheckpointUnknown; "" if it is not True.
	resumeReasons map[string]int
	// checkpointLost: a complete checkpoint was lost, so the resume point can move back.
	checkpointLost bool

	// succeeded are the ranks that exited 0 before they were stopped, by attempt and pod.
	succeeded map[string]bool
	// completed: rank 0 reported the last step.
	completed bool
	// disruptions counts the disruptions of a random history.
	disruptions int32
	// history limits the transitions in the status, unless it is 0.
	history int

	// hanging pods stay Terminating until the end of a random history.
	hanging map[types.UID]bool
	// beside runs in each pod beside the trainer.
	beside beside
	// podsLinger: deleted pods with a node stay Terminating until removePod.
	podsLinger bool
	// oldKubelets: kubelets do not report the observed generation of a pod.
	oldKubelets bool
	// written is called with what the operator creates, writes and answers; nil: not at all.
	written func(any)
	// shouldCrash is called before every effect. True ends the reconcile, as a crash does.
	shouldCrash func() bool

	// Beats of the ranks, see watch.
	beats        map[types.UID]observation.ReceivedBeat
	trainers     map[string]*trainer
	beatInterval time.Duration
	stepTime     time.Duration
	stalled      bool // no rank makes progress
	leadsSince   time.Time
	hangs        *observation.Hangs // nil: unknown
	hangRestarts int

	explainCalls int // calls of Snapshot.Why
	podsCreated  int
	statusWrites int
	// checksOwners is the number of reconciles per check of the owners, which is slow.
	checksOwners, reconciles int
}

func newSimulation(t testing.TB, job *v1alpha1.TrainingJob) *simulation {
	return &simulation{
		t: t, job: job, backend: stubBackend{}, verdict: scheduler.Verdict{Admission: scheduler.Go},
		now:           time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC),
		nodes:         map[string]observation.NodeState{},
		resumePaths:   map[int32]string{},
		resumeReasons: map[string]int{},
		succeeded:     map[string]bool{},
		hanging:       map[types.UID]bool{},
		shouldCrash:   func() bool { return false },
		checksOwners:  1,
		lifecycle:     observation.DefaultLifecycle(),
		agent: render.Agent{
			Image:     "agent:1",
			ReportURL: "https://operator.example.com:9443/reports",
			Audience:  "trainingjob-reports",
		},
	}
}

func (sim *simulation) snapshot() Snapshot {
	s := Snapshot{
		Job:              sim.job.DeepCopy(),
		Departed:         sim.departed,
		Report:           sim.report,
		Agent:            sim.agent,
		Lifecycle:        sim.lifecycle,
		Nodes:            sim.nodes,
		Backend:          sim.backend,
		SchedulerProblem: sim.schedulerProblem,
		Gang:             observation.DescribeGang(sim.job, sim.backend, sim.pods, nil, nil, false),
		Verdict:          sim.verdict,
		CreateBackoff:    sim.createBackoff,
		Woken:            sim.woken,
		Waiting:          sim.waiting,
		RunningJobs:      sim.running,
		ClusterUnknown:   sim.clusterUnknown,
		OtherReason:      sim.otherReason,
		Preemption:       sim.preemption,
		Brokers:          sim.brokers,
		WaitingClass:     sim.waitingClass,
		GiveWay:          sim.giveWay,
		SaveAhead:        sim.ahead,
		RoomReserved:     sim.roomReserved,
		Backfill:         sim.backfill,
		NamedAttempt:     sim.namesOf,
		Beats:            sim.beats,
		BeatInterval:     sim.beatInterval,
		LeadsSince:       sim.leadsSince,
		Now:              sim.now,

		Devices:             sim.devices,
		MLflowTrackingURI:   sim.mlflow,
		WaitingClassProblem: sim.classProblem,
	}
	for _, pod := range sim.pods {
		if render.IsResolver(pod) {
			s.Resolvers = append(s.Resolvers, pod)
		} else {
			s.Pods = append(s.Pods, pod)
		}
	}
	if sim.hangs != nil {
		s.Hangs = func() observation.Hangs { return *sim.hangs }
	}
	s.Unplaceable = func() (scheduler.Explanation, bool) {
		if sim.unplaceable == nil {
			return scheduler.Explanation{}, false
		}
		return *sim.unplaceable, true
	}
	if sim.explanation != nil {
		s.Why = func() (scheduler.Explanation, bool) { sim.explainCalls++; return *sim.explanation, true }
	}
	return s
}

// converge reconciles until nothing changes.
func (sim *simulation) converge() {
	sim.t.Helper()
	for range 50 {
		if !sim.reconcile() {
			sim.checkNames()
			return
		}
	}
	sim.t.Fatalf("the job still changes after 50 reconciles:\n%s", sim.log.String())
}

// reconcile applies one plan. It reports whether anything changed.
func (sim *simulation) reconcile() bool {
	sim.t.Helper()
	if sim.jobDeleted {
		return false
	}
	snapshot := sim.snapshot()
	var watch func(step, *draft)
	if sim.reconciles++; sim.reconciles%sim.checksOwners == 0 {
		watch = sim.checkOwners
	}
	plan := decide(snapshot, watch)
	sim.otherReason = plan.OtherReason
	sim.checkPlan(plan)
	if plan.Group == decision.Apply && !snapshot.Gang.Computed {
		sim.t.Errorf("the plan applies a group whose objects were not computed")
	}
	sim.wake = plan.Wake
	for _, n := range plan.Notes {
		sim.logf("  %s", n)
	}
	if plan.Transition {
		if !sim.shouldCrash() {
			sim.writeStatus(plan)
		}
		return true
	}
	return sim.carryOut(plan)
}

// carryOut applies a plan without a transition. It reports whether anything changed or the operator crashed.
func (sim *simulation) carryOut(plan Plan) bool {
	if sim.shouldCrash() {
		return true
	}
	changed := sim.applyGroup(plan.Group)
	changed = sim.applyNames(plan) || changed
	for _, d := range plan.Delete {
		if sim.shouldCrash() {
			return true
		}
		sim.deletePod(d.Pod)
		if d.Force {
			sim.removePod(d.Pod.Name)
		}
		changed = true
	}
	for _, rank := range plan.Create {
		if sim.shouldCrash() {
			return true
		}
		sim.createRank(rank)
		changed = true
	}
	if plan.Resolve {
		if sim.shouldCrash() {
			return true
		}
		sim.createResolver()
		changed = true
	}
	if plan.WakeScheduler != nil {
		if sim.shouldCrash() {
			return true
		}
		sim.woken = *plan.WakeScheduler
		changed = true
	}
	if plan.DeleteJob {
		sim.jobDeleted = true
		sim.logf("  delete the job")
		return false
	}
	if sim.shouldCrash() {
		return true
	}
	return sim.writeStatus(plan) || changed
}

func (sim *simulation) applyGroup(action decision.GroupAction) bool {
	switch {
	case action == decision.Apply && !sim.groupExists:
		sim.groupExists = true
		sim.write(sim.snapshot().Gang.Wanted)
		sim.logf("  apply the group")
	case (action == decision.Remove || action == decision.Finish) && sim.groupExists:
		sim.groupExists = false
		sim.logf("  remove the group")
	default:
		return false
	}
	return true
}

func (sim *simulation) applyNames(plan Plan) bool {
	named, of := sim.names, sim.namesOf
	switch plan.Names {
	case decision.Apply:
		named, of = map[int]types.UID{}, 0
		for _, r := range plan.Named {
			named[r.Number], of = r.Pod.UID, plan.Status.Attempt
		}
	case decision.Remove:
		named, of = nil, 0
	}
	if maps.Equal(named, sim.names) && of == sim.namesOf {
		return false
	}
	sim.names, sim.namesOf = named, of
	return true
}

// writeStatus persists a plan's status and records its events. It reports whether the status differs.
func (sim *simulation) writeStatus(plan Plan) bool {
	if apiequality.Semantic.DeepEqual(plan.Status, sim.job.Status) {
		return false
	}
	sim.checkStatus(plan.Status)
	if plan.Status.Attempt != sim.job.Status.Attempt {
		sim.departed = nil
	}
	sim.checkResumePoint(plan.Status)
	sim.job.Status = plan.Status
	if ts := sim.job.Status.Transitions; sim.history > 0 && len(ts) > sim.history {
		sim.job.Status.Transitions = ts[len(ts)-sim.history:]
	}
	sim.statusWrites++
	sim.write(plan.Status, plan.Events, decision.Answer(sim.job))
	for _, e := range plan.Events {
		kind := "Normal"
		if e.Warning {
			kind = "Warning"
		}
		sim.logf("  event %s %s: %s", kind, e.Reason, e.Message)
	}
	return true
}

func (sim *simulation) write(objects ...any) {
	for _, o := range objects {
		if sim.written != nil {
			sim.written(o)
		}
	}
}

func (sim *simulation) advance(d time.Duration) {
	sim.now = sim.now.Add(d)
	sim.logf("%s pass", d)
}

// narrate logs a line of the story, reconciles, and logs the status.
func (sim *simulation) narrate(format string, args ...any) {
	sim.logf(format, args...)
	sim.converge()
	sim.logStatus()
}

// logStatus logs a summary of the status.
func (sim *simulation) logStatus() {
	st := sim.job.Status
	blocker := ""
	if st.Scheduling != nil && st.Scheduling.Blocker != nil {
		blocker = " blocker=" + st.Scheduling.Blocker.Reason
	}
	sim.logf("= %s gang=%s attempt=%d restarts=%d preemptions=%d pods=%d group=%t%s | %s",
		st.Phase, st.Gang, st.Attempt, st.Restarts, st.Preemptions, len(sim.pods), sim.groupExists, blocker,
		st.Message)
}

func (sim *simulation) logf(format string, args ...any) { fmt.Fprintf(&sim.log, format+"\n", args...) }

// attemptBackend is a backend with one group per attempt, whose scheduler preempts gangs as a unit.
type attemptBackend struct{ stubBackend }

func (attemptBackend) Name() string             { return "native" }
func (attemptBackend) Traits() scheduler.Traits { return scheduler.Traits{PreemptsGangs: true} }
func (attemptBackend) Objects(g scheduler.Gang) ([]client.Object, error) {
	g.Name = fmt.Sprintf("%s-%d", g.Name, g.Attempt)
	return stubBackend{}.Objects(g)
}

// stubBackend is a backend whose group is one ConfigMap.
type stubBackend struct{}

func (stubBackend) Name() string                            { return "volcano" }
func (stubBackend) Traits() scheduler.Traits                { return scheduler.Traits{} }
func (stubBackend) Kinds() []schema.GroupVersionKind        { return nil }
func (stubBackend) Validate(scheduler.Gang) field.ErrorList { return nil }
func (stubBackend) Read(scheduler.Gang, []client.Object) scheduler.Verdict {
	return scheduler.Verdict{}
}
func (stubBackend) Join(*corev1.Pod, scheduler.Gang, scheduler.Verdict) {}
func (stubBackend) Objects(g scheduler.Gang) ([]client.Object, error) {
	return []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: g.Name, Namespace: g.Namespace}},
	}, nil
}
