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

// simulation is a cluster in memory with one job. It plays the API server, the scheduler and the kubelets,
// and carries out plans as the shell does. It checks the invariants after every plan, and logs what happens.
type simulation struct {
	t   testing.TB
	log strings.Builder
	now time.Time

	// What a snapshot is made of.
	job              *v1alpha1.TrainingJob
	pods             []*corev1.Pod // resolvers included
	departed         []*corev1.Pod
	nodes            map[string]observation.NodeState
	backend          scheduler.Backend
	schedulerProblem *v1alpha1.Blocker
	verdict          scheduler.Verdict
	explanation      *scheduler.Explanation // nil: the cluster's state does not tell why the gang waits
	unplaceable      *scheduler.Explanation // nil: some node may take its ranks
	woken            observation.Woken
	waiting, running int                        // jobs of the cluster
	otherReason      *observation.OtherReason   // of the last decision
	clusterUnknown   bool                       // by this process, yet
	preemption       *v1alpha1.PreemptionStatus // nil: nobody plans
	brokers          bool                       // the operator has others make room
	waitingClass     string                     // of the job's class
	classProblem     string                     // why that is none
	giveWay          *observation.GiveWay       // nil: it need not make room
	ahead            *observation.SaveAhead     // nil: nobody endangers it
	roomReserved     bool
	createBackoff    *observation.CreateBackoff
	agent            render.Agent
	lifecycle        observation.Lifecycle
	report           *observation.Reported

	// What the last plan left behind.
	groupExists bool
	names       map[int]types.UID // of the ranks, by number
	namesOf     int32             // the attempt of the names; 0: there are none
	jobDeleted  bool
	wake        time.Time

	// volume holds the checkpoints on the job's claim, in the order in which they were written.
	volume []savedCheckpoint
	// trainedStep is the step that the trainer has reached, in random histories.
	trainedStep int64
	// mlflow is the operator's mlflow.trackingURI.
	mlflow string
	// resumePaths that the ranks were given, by attempt.
	resumePaths map[int32]string
	// chosen counts the resume points that the user chose.
	chosen int
	// trainedAttempt is the attempt that trained trainedStep.
	trainedAttempt int32
	// resumeReasons counts the settled resume points by the reason of CheckpointUnknown; "" where it is not
	// true.
	resumeReasons map[string]int
	// checkpointLost: a complete checkpoint is gone, so that the resume point may move back.
	checkpointLost bool

	// through are the ranks that exited 0 of themselves, by attempt and pod. What a pod shows of that may be
	// lost; the simulation knows it.
	through map[string]bool
	// completed: rank 0 said that every step is trained.
	completed bool
	// disruptions that random histories have caused.
	disruptions int32
	// history, where it is not 0, is how many transitions a status keeps.
	history int

	// podsLinger: deleted pods that hold a node stay Terminating until removePod; else they are gone at once.
	podsLinger bool
	// oldKubelets do not say which version of a pod they knew when they reported its end.
	oldKubelets bool
	// crashesNow is asked before every single effect. True ends the reconcile there, as a crash would.
	crashesNow func() bool

	explainCalls int // how often the plan asked why the gang waits
	podsCreated  int
	statusWrites int
	// checksOwners is after how many reconciles the owners of the status are checked, which is slow.
	checksOwners, reconciles int
}

func newSimulation(t testing.TB, job *v1alpha1.TrainingJob) *simulation {
	return &simulation{
		t: t, job: job, backend: stubBackend{}, verdict: scheduler.Verdict{Admission: scheduler.Go},
		now:           time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC),
		nodes:         map[string]observation.NodeState{},
		resumePaths:   map[int32]string{},
		resumeReasons: map[string]int{},
		through:       map[string]bool{},
		crashesNow:    func() bool { return false },
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
		Gang:             observation.DescribeGang(sim.job, sim.backend, sim.pods, nil, nil),
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
		NamedAttempt:     sim.namesOf,
		Now:              sim.now,

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

// converge reconciles until nothing changes any more.
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

// reconcile carries out one plan. It reports whether anything changed.
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
		if !sim.crashesNow() {
			sim.writeStatus(plan)
		}
		return true
	}
	return sim.carryOut(plan)
}

// carryOut a plan without a transition. It reports whether anything changed, or the operator crashed.
func (sim *simulation) carryOut(plan Plan) bool {
	if sim.crashesNow() {
		return true
	}
	changed := sim.applyGroup(plan.Group)
	changed = sim.applyNames(plan) || changed
	for _, d := range plan.Delete {
		if sim.crashesNow() {
			return true
		}
		sim.deletePod(d.Pod)
		if d.Force {
			sim.removePod(d.Pod.Name)
		}
		changed = true
	}
	for _, rank := range plan.Create {
		if sim.crashesNow() {
			return true
		}
		sim.createRank(rank)
		changed = true
	}
	if plan.Resolve {
		if sim.crashesNow() {
			return true
		}
		sim.createResolver()
		changed = true
	}
	if plan.WakeScheduler != nil {
		if sim.crashesNow() {
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
	if sim.crashesNow() {
		return true
	}
	return sim.writeStatus(plan) || changed
}

func (sim *simulation) applyGroup(action decision.GroupAction) bool {
	switch {
	case action == decision.Apply && !sim.groupExists:
		sim.groupExists = true
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
	for _, e := range plan.Events {
		kind := "Normal"
		if e.Warning {
			kind = "Warning"
		}
		sim.logf("  event %s %s: %s", kind, e.Reason, e.Message)
	}
	return true
}

func (sim *simulation) advance(d time.Duration) {
	sim.now = sim.now.Add(d)
	sim.logf("%s pass", d)
}

// narrate logs a line of the story, and what the operator does about it.
func (sim *simulation) narrate(format string, args ...any) {
	sim.logf(format, args...)
	sim.converge()
	sim.logStatus()
}

// logStatus logs what a user sees.
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

// attemptBackend is a dialect in which every attempt has a group of its own, and whose scheduler ends all
// ranks of a gang that it preempts.
type attemptBackend struct{ stubBackend }

func (attemptBackend) Name() string             { return "native" }
func (attemptBackend) Traits() scheduler.Traits { return scheduler.Traits{PreemptsGangs: true} }
func (attemptBackend) Objects(g scheduler.Gang) ([]client.Object, error) {
	g.Name = fmt.Sprintf("%s-%d", g.Name, g.Attempt)
	return stubBackend{}.Objects(g)
}

// stubBackend is a dialect whose group is one ConfigMap.
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
