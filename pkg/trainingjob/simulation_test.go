package trainingjob

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// simulation is a cluster in memory: it plays the API server, the scheduler and the kubelets for one job, and
// carries out plans as the shell does. It checks the invariants after every plan.
type simulation struct {
	t        testing.TB
	job      *v1alpha1.TrainingJob
	pods     []*corev1.Pod
	departed []*corev1.Pod
	nodes    map[string]observation.NodeState
	group    bool
	verdict  scheduler.Verdict
	why      *scheduler.Explanation
	backend  scheduler.Backend
	problem  *v1alpha1.Blocker
	obstacle *observation.CreateBackoff
	now      time.Time
	wake     time.Time
	deleted  bool // the job
	agent    render.Agent
	report   *observation.Reported
	// volume is what lies on the job's claim, and resumed what each attempt's pods were given.
	volume  []saved
	resumed map[int32]string
	// settled counts resume points by what was said of them, if anything was.
	settled map[string]int
	// mayGoBack: a checkpoint was lost.
	mayGoBack bool
	// step that the trainer is at, in random histories.
	step int64

	// lingers: deleted pods stay Terminating until goneAll; else their kubelets end them at once.
	lingers bool
	// crash is asked before every single effect; true ends the pass there, as a crash of the operator would.
	crash func() bool

	// asked counts how often the simulation was asked why the gang waits.
	asked        int
	uid          int
	statusWrites int
	created      int
	log          strings.Builder
}

func newSimulation(t testing.TB, job *v1alpha1.TrainingJob) *simulation {
	return &simulation{
		t: t, job: job, backend: stubBackend{}, verdict: scheduler.Verdict{Admission: scheduler.Go},
		now:   time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC),
		nodes: map[string]observation.NodeState{}, resumed: map[int32]string{}, settled: map[string]int{},
		agent: render.Agent{Image: "agent:1", ReportURL: "https://operator.example.com:9443/reports", Audience: "trainingjob-reports"},
		crash: func() bool { return false },
	}
}

// newJob is a job of n ranks with 2 GPUs each, changed by edit.
func (sim *simulation) snapshot() Snapshot {
	s := Snapshot{
		Gang: observation.DescribeGang(sim.job, sim.backend, sim.pods, nil),
		Job:  sim.job.DeepCopy(), Agent: sim.agent, Report: sim.report, Departed: sim.departed, Nodes: sim.nodes, Backend: sim.backend,
		SchedulerProblem: sim.problem, Verdict: sim.verdict, CreateBackoff: sim.obstacle, Now: sim.now,
	}
	for _, pod := range sim.pods {
		if render.IsResolver(pod) {
			s.Resolvers = append(s.Resolvers, pod)
		} else {
			s.Pods = append(s.Pods, pod)
		}
	}
	if sim.why != nil {
		s.Why = func() (scheduler.Explanation, bool) { sim.asked++; return *sim.why, true }
	}
	return s
}

// converge runs passes until one changes nothing, and logs what they did.
func (sim *simulation) converge() {
	sim.t.Helper()
	for range 50 {
		if !sim.pass() {
			return
		}
	}
	sim.t.Fatalf("no end after 50 passes:\n%s", sim.log.String())
}

// pass is one reconcile. It reports whether anything changed.
func (sim *simulation) pass() bool {
	sim.t.Helper()
	if sim.deleted {
		return false
	}
	snapshot := sim.snapshot()
	plan := Decide(snapshot)
	sim.checkPlan(plan)
	if plan.Group == decision.Apply && !snapshot.Gang.Computed {
		sim.t.Errorf("the group is to be applied, but what it looks like was not computed")
	}
	sim.wake = plan.Wake
	for _, n := range plan.Notes {
		sim.say("  %s", n)
	}
	if plan.Transition {
		if sim.crash() {
			return true
		}
		sim.write(plan)
		return true
	}
	changed := false
	switch {
	case sim.crash():
		return true
	case plan.Group == decision.Apply && !sim.group:
		sim.group, changed = true, true
		sim.say("  apply the group")
	case (plan.Group == decision.Remove || plan.Group == decision.Finish) && sim.group:
		sim.group, changed = false, true
		sim.say("  remove the group")
	}
	for _, d := range plan.Delete {
		if sim.crash() {
			return true
		}
		sim.deletePod(d.Pod)
		changed = true
	}
	for _, ref := range plan.Create {
		if sim.crash() {
			return true
		}
		sim.createPod(ref)
		changed = true
	}
	if plan.Resolve {
		if sim.crash() {
			return true
		}
		sim.createResolver()
		changed = true
	}
	if plan.DeleteJob {
		sim.deleted = true
		sim.say("  delete the job")
		return false
	}
	if sim.crash() {
		return true
	}
	return sim.write(plan) || changed
}

func (sim *simulation) write(plan Plan) bool {
	if equalStatus(plan.Status, sim.job.Status) {
		return false
	}
	sim.checkStatus(plan.Status)
	if plan.Status.Attempt != sim.job.Status.Attempt {
		sim.departed = nil
	}
	sim.checkPoints(plan.Status)
	sim.job.Status = plan.Status
	sim.statusWrites++
	for _, e := range plan.Events {
		kind := "Normal"
		if e.Warning {
			kind = "Warning"
		}
		sim.say("  event %s %s: %s", kind, e.Reason, e.Message)
	}
	return true
}

func (sim *simulation) createPod(ref spec.RankRef) {
	pod, err := render.Pod(sim.job, ref, sim.job.Status.Attempt, sim.verdict.Admitted, sim.agent)
	if err != nil {
		sim.t.Fatal(err)
	}
	sim.checkResume(pod)
	sim.add(pod)
}

func (sim *simulation) add(pod *corev1.Pod) {
	if sim.find(pod.Name) != nil {
		sim.t.Fatalf("pod %s exists already", pod.Name)
	}
	sim.uid++
	sim.created++
	pod.UID = types.UID(fmt.Sprint("pod-", sim.uid))
	pod.CreationTimestamp = metav1.NewTime(sim.now)
	pod.Status.Phase = corev1.PodPending
	sim.pods = append(sim.pods, pod)
}

// deletePod is a deletion by anybody.
func (sim *simulation) deletePod(old *corev1.Pod) {
	i := slices.IndexFunc(sim.pods, func(p *corev1.Pod) bool { return p.UID == old.UID })
	if i < 0 {
		return
	}
	pod := sim.pods[i].DeepCopy()
	if pod.DeletionTimestamp == nil {
		t := metav1.NewTime(sim.now)
		pod.DeletionTimestamp = &t
	}
	sim.pods[i] = pod
	if !sim.lingers || observation.Ended(pod) || pod.Spec.NodeName == "" {
		sim.remove(pod.Name)
	}
}

func (sim *simulation) remove(name string) {
	if pod := sim.find(name); pod != nil {
		sim.departed = append(slices.DeleteFunc(sim.departed, func(p *corev1.Pod) bool { return p.Name == name }), pod)
		sim.pods = slices.DeleteFunc(sim.pods, func(p *corev1.Pod) bool { return p.Name == name })
	}
}

func (sim *simulation) find(name string) *corev1.Pod {
	for _, p := range sim.pods {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// change edits a copy of a pod, as an update event would bring it.
func (sim *simulation) change(name string, edit func(*corev1.Pod)) {
	i := slices.IndexFunc(sim.pods, func(p *corev1.Pod) bool { return p.Name == name })
	if i < 0 {
		sim.t.Fatalf("no pod %s", name)
	}
	pod := sim.pods[i].DeepCopy()
	edit(pod)
	sim.pods[i] = pod
}

func (sim *simulation) names() []string {
	var names []string
	for _, p := range sim.pods {
		if !render.IsResolver(p) {
			names = append(names, p.Name)
		}
	}
	return names
}

// bind places the named pods, all without names, each on a node of its own.
func (sim *simulation) bind(names ...string) {
	for i, name := range orAll(names, sim.names()) {
		node := fmt.Sprint("node-", i)
		sim.nodes[node] = observation.NodeState{Ready: true}
		sim.change(name, func(p *corev1.Pod) { p.Spec.NodeName = node; sim.touch(p, corev1.PodScheduled) })
	}
	sim.say("the scheduler binds %d pods", len(orAll(names, sim.names())))
}

func (sim *simulation) start(names ...string) {
	for _, name := range orAll(names, sim.names()) {
		sim.change(name, func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodRunning
			sim.touch(p, corev1.PodReady)
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name: p.Spec.Containers[0].Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(sim.now)}},
			}}
		})
	}
	sim.say("%d pods run", len(orAll(names, sim.names())))
}

func (sim *simulation) up(names ...string) { sim.bind(names...); sim.start(names...) }

func (sim *simulation) touch(p *corev1.Pod, t corev1.PodConditionType) {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
		Type: t, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(sim.now),
	})
}

func (sim *simulation) exit(code int32, names ...string) {
	for _, name := range orAll(names, sim.names()) {
		sim.change(name, func(p *corev1.Pod) {
			reason := "Completed"
			p.Status.Phase = corev1.PodSucceeded
			if code != 0 {
				p.Status.Phase, reason = corev1.PodFailed, "Error"
			}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: p.Spec.Containers[0].Name,
				State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
					ExitCode: code, Reason: reason, Message: "the log's last line", FinishedAt: metav1.NewTime(sim.now)}}}}
		})
	}
	sim.say("%s: exit code %d", strings.Join(orAll(names, []string{"all"}), ", "), code)
}

// restarts sets how often the kubelet has restarted a rank's container.
func (sim *simulation) restarts(name string, n int32) {
	sim.change(name, func(p *corev1.Pod) {
		p.Status.ContainerStatuses = slices.Clone(p.Status.ContainerStatuses)
		p.Status.ContainerStatuses[0].RestartCount = n
	})
}

// cannotPull lets a kubelet fail to get the image of a rank.
func (sim *simulation) cannotPull(name, reason string) {
	sim.change(name, func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: p.Spec.Containers[0].Name, Image: p.Spec.Containers[0].Image,
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "changes all the time"}},
		}}
	})
	sim.say("the kubelet of %s says %s", name, reason)
}

// preempt marks and deletes pods as schedulers do.
func (sim *simulation) preempt(names ...string) {
	sim.say("the scheduler preempts %s", strings.Join(names, ", "))
	for _, name := range names {
		sim.change(name, func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget,
				Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler, Message: "preempting to accommodate a higher priority pod"})
		})
		sim.deletePod(sim.find(name))
	}
}

func (sim *simulation) advance(d time.Duration) {
	sim.now = sim.now.Add(d)
	sim.say("%s pass", d)
}

func (sim *simulation) say(format string, args ...any) { fmt.Fprintf(&sim.log, format+"\n", args...) }

// tell logs a line of the story and lets the operator work.
func (sim *simulation) tell(format string, args ...any) {
	sim.say(format, args...)
	sim.converge()
	sim.state()
}

// state logs what a user sees.
func (sim *simulation) state() {
	st := sim.job.Status
	blocker := ""
	if st.Scheduling != nil && st.Scheduling.Blocker != nil {
		blocker = " blocker=" + st.Scheduling.Blocker.Reason
	}
	sim.say("= %s gang=%s attempt=%d restarts=%d preemptions=%d pods=%d group=%t%s | %s",
		st.Phase, st.Gang, st.Attempt, st.Restarts, st.Preemptions, len(sim.pods), sim.group, blocker, st.Message)
}

// checkPlan holds the invariants that a single plan must keep.
func (sim *simulation) checkPlan(plan Plan) {
	sim.t.Helper()
	st := sim.job.Status
	if plan.Transition && (len(plan.Create) > 0 || len(plan.Delete) > 0) {
		sim.t.Errorf("a transition must commit alone, it creates %d and deletes %d pods", len(plan.Create), len(plan.Delete))
	}
	if len(plan.Create) == 0 {
		return
	}
	if sim.verdict.Admission != scheduler.Go {
		sim.t.Errorf("invariant 1: creates %d pods under %s", len(plan.Create), sim.verdict.Admission)
	}
	if st.Phase.Finished() || st.Phase == v1alpha1.PhaseSuspended || st.Phase == v1alpha1.PhaseDraining {
		sim.t.Errorf("invariant 1: creates pods in phase %s", st.Phase)
	}
	if plan.Status.Attempt != st.Attempt {
		sim.t.Errorf("invariant 1: creates pods for attempt %d, persisted is %d", plan.Status.Attempt, st.Attempt)
	}
	for _, pod := range sim.pods {
		if pod.Labels[v1alpha1.LabelAttempt] != fmt.Sprint(st.Attempt) && !observation.Ended(pod) && !render.IsResolver(pod) {
			sim.t.Errorf("invariant 2: creates pods beside %s of attempt %s", pod.Name, pod.Labels[v1alpha1.LabelAttempt])
		}
	}
}

// checkStatus holds the invariants over two successive statuses.
func (sim *simulation) checkStatus(to v1alpha1.TrainingJobStatus) {
	sim.t.Helper()
	from := sim.job.Status
	switch {
	case from.Phase.Finished() && to.Phase != from.Phase:
		sim.t.Errorf("invariant 5: %s became %s", from.Phase, to.Phase)
	case to.Attempt < from.Attempt || to.Attempt > from.Attempt+1:
		sim.t.Errorf("attempt went from %d to %d", from.Attempt, to.Attempt)
	case to.Restarts < from.Restarts || to.Preemptions < from.Preemptions:
		sim.t.Errorf("invariant 4: a counter fell: %+v -> %+v", from, to)
	case spec.Scope(sim.job) == v1alpha1.ScopeGang && to.Restarts > from.Restarts+1:
		sim.t.Errorf("invariant 4: one failure spent %d restarts", to.Restarts-from.Restarts)
	case spec.Scope(sim.job) == v1alpha1.ScopeGang && to.Restarts > from.Restarts && to.Attempt != from.Attempt+1:
		sim.t.Errorf("invariant 4: a restart is spent without raising the attempt")
	}
}

func orAll(names, all []string) []string {
	if len(names) == 0 {
		return all
	}
	return names
}

// stubBackend is the least a dialect can be.
type stubBackend struct{}

func (stubBackend) Name() string                            { return "volcano" }
func (stubBackend) Kinds() []schema.GroupVersionKind        { return nil }
func (stubBackend) Validate(scheduler.Gang) field.ErrorList { return nil }
func (stubBackend) Read(scheduler.Gang, []client.Object) scheduler.Verdict {
	return scheduler.Verdict{}
}
func (stubBackend) Join(*corev1.Pod, scheduler.Gang, scheduler.Verdict) {}
func (stubBackend) Objects(g scheduler.Gang) ([]client.Object, error) {
	return []client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: g.Name, Namespace: g.Namespace}}}, nil
}
