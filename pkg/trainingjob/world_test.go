package trainingjob

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// world is a cluster in memory: it plays the API server, the scheduler and the kubelets for one job, and carries out plans as
// the shell does. It checks the invariants after every plan.
type world struct {
	t        testing.TB
	job      *v1alpha1.TrainingJob
	pods     []*corev1.Pod
	departed []*corev1.Pod
	nodes    map[string]NodeState
	group    bool
	verdict  scheduler.Verdict
	why      *scheduler.Explanation
	backend  scheduler.Backend
	problem  *v1alpha1.Blocker
	obstacle *CreateBackoff
	now      time.Time
	wake     time.Time
	deleted  bool // the job
	agent    Agent
	report   *Reported
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

	// asked counts how often the world was asked why the gang waits.
	asked        int
	uid          int
	statusWrites int
	created      int
	log          strings.Builder
}

func newWorld(t testing.TB, job *v1alpha1.TrainingJob) *world {
	return &world{
		t: t, job: job, backend: stubBackend{}, verdict: scheduler.Verdict{Admission: scheduler.Go},
		now:   time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC),
		nodes: map[string]NodeState{}, resumed: map[int32]string{}, settled: map[string]int{},
		agent: Agent{Image: "agent:1", ReportURL: "https://operator.example.com:9443/reports", Audience: "trainingjob-reports"},
		crash: func() bool { return false },
	}
}

// newJob is a job of n ranks with 2 GPUs each, changed by edit.
func newJob(n int32, edit ...func(*v1alpha1.TrainingJob)) *v1alpha1.TrainingJob {
	job := &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{Name: "bert", Namespace: "team-a", UID: "job-uid", Generation: 1},
		Spec: v1alpha1.TrainingJobSpec{
			Framework: v1alpha1.FrameworkPyTorch, Image: "bert:1", Command: []string{"python", "train.py"}, Replicas: &n,
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("2")}},
		},
	}
	for _, e := range edit {
		e(job)
	}
	return job
}

func (w *world) snapshot() Snapshot {
	s := Snapshot{
		Job: w.job.DeepCopy(), Agent: w.agent, Report: w.report, Departed: w.departed, Nodes: w.nodes, Backend: w.backend,
		SchedulerProblem: w.problem, Verdict: w.verdict, CreateBackoff: w.obstacle, Now: w.now,
	}
	for _, pod := range w.pods {
		if IsResolver(pod) {
			s.Resolvers = append(s.Resolvers, pod)
		} else {
			s.Pods = append(s.Pods, pod)
		}
	}
	if w.why != nil {
		s.Why = func() (scheduler.Explanation, bool) { w.asked++; return *w.why, true }
	}
	return s
}

// converge runs passes until one changes nothing, and logs what they did.
func (w *world) converge() {
	w.t.Helper()
	for range 50 {
		if !w.pass() {
			return
		}
	}
	w.t.Fatalf("no end after 50 passes:\n%s", w.log.String())
}

// pass is one reconcile. It reports whether anything changed.
func (w *world) pass() bool {
	w.t.Helper()
	if w.deleted {
		return false
	}
	plan := Decide(w.snapshot())
	w.checkPlan(plan)
	w.wake = plan.Wake
	for _, n := range plan.Notes {
		w.say("  %s", n)
	}
	if plan.Transition {
		if w.crash() {
			return true
		}
		w.write(plan)
		return true
	}
	changed := false
	switch {
	case w.crash():
		return true
	case plan.Group == Apply && !w.group:
		w.group, changed = true, true
		w.say("  apply the group")
	case (plan.Group == Remove || plan.Group == Finish) && w.group:
		w.group, changed = false, true
		w.say("  remove the group")
	}
	for _, d := range plan.Delete {
		if w.crash() {
			return true
		}
		w.deletePod(d.Pod)
		changed = true
	}
	for _, ref := range plan.Create {
		if w.crash() {
			return true
		}
		w.createPod(ref)
		changed = true
	}
	if plan.Resolve {
		if w.crash() {
			return true
		}
		w.createResolver()
		changed = true
	}
	if plan.DeleteJob {
		w.deleted = true
		w.say("  delete the job")
		return false
	}
	if w.crash() {
		return true
	}
	return w.write(plan) || changed
}

func (w *world) write(plan Plan) bool {
	if equalStatus(plan.Status, w.job.Status) {
		return false
	}
	w.checkStatus(plan.Status)
	if plan.Status.Attempt != w.job.Status.Attempt {
		w.departed = nil
	}
	w.checkPoints(plan.Status)
	w.job.Status = plan.Status
	w.statusWrites++
	for _, e := range plan.Events {
		kind := "Normal"
		if e.Warning {
			kind = "Warning"
		}
		w.say("  event %s %s: %s", kind, e.Reason, e.Message)
	}
	return true
}

func (w *world) createPod(ref RankRef) {
	pod, err := RenderPod(w.job, ref, w.job.Status.Attempt, w.verdict.Admitted, w.agent)
	if err != nil {
		w.t.Fatal(err)
	}
	w.checkResume(pod)
	w.add(pod)
}

func (w *world) add(pod *corev1.Pod) {
	if w.find(pod.Name) != nil {
		w.t.Fatalf("pod %s exists already", pod.Name)
	}
	w.uid++
	w.created++
	pod.UID = types.UID(fmt.Sprint("pod-", w.uid))
	pod.CreationTimestamp = metav1.NewTime(w.now)
	pod.Status.Phase = corev1.PodPending
	w.pods = append(w.pods, pod)
}

// deletePod is a deletion by anybody.
func (w *world) deletePod(old *corev1.Pod) {
	i := slices.IndexFunc(w.pods, func(p *corev1.Pod) bool { return p.UID == old.UID })
	if i < 0 {
		return
	}
	pod := w.pods[i].DeepCopy()
	if pod.DeletionTimestamp == nil {
		t := metav1.NewTime(w.now)
		pod.DeletionTimestamp = &t
	}
	w.pods[i] = pod
	if !w.lingers || Ended(pod) || pod.Spec.NodeName == "" {
		w.remove(pod.Name)
	}
}

func (w *world) remove(name string) {
	if pod := w.find(name); pod != nil {
		w.departed = append(slices.DeleteFunc(w.departed, func(p *corev1.Pod) bool { return p.Name == name }), pod)
		w.pods = slices.DeleteFunc(w.pods, func(p *corev1.Pod) bool { return p.Name == name })
	}
}

func (w *world) find(name string) *corev1.Pod {
	for _, p := range w.pods {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// change edits a copy of a pod, as an update event would bring it.
func (w *world) change(name string, edit func(*corev1.Pod)) {
	i := slices.IndexFunc(w.pods, func(p *corev1.Pod) bool { return p.Name == name })
	if i < 0 {
		w.t.Fatalf("no pod %s", name)
	}
	pod := w.pods[i].DeepCopy()
	edit(pod)
	w.pods[i] = pod
}

func (w *world) names() []string {
	var names []string
	for _, p := range w.pods {
		if !IsResolver(p) {
			names = append(names, p.Name)
		}
	}
	return names
}

// bind places the named pods, all without names, each on a node of its own.
func (w *world) bind(names ...string) {
	for i, name := range orAll(names, w.names()) {
		node := fmt.Sprint("node-", i)
		w.nodes[node] = NodeState{Ready: true}
		w.change(name, func(p *corev1.Pod) { p.Spec.NodeName = node; w.touch(p, corev1.PodScheduled) })
	}
	w.say("the scheduler binds %d pods", len(orAll(names, w.names())))
}

func (w *world) start(names ...string) {
	for _, name := range orAll(names, w.names()) {
		w.change(name, func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodRunning
			w.touch(p, corev1.PodReady)
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name: p.Spec.Containers[0].Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(w.now)}},
			}}
		})
	}
	w.say("%d pods run", len(orAll(names, w.names())))
}

func (w *world) up(names ...string) { w.bind(names...); w.start(names...) }

func (w *world) touch(p *corev1.Pod, t corev1.PodConditionType) {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
		Type: t, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(w.now),
	})
}

func (w *world) exit(code int32, names ...string) {
	for _, name := range orAll(names, w.names()) {
		w.change(name, func(p *corev1.Pod) {
			reason := "Completed"
			p.Status.Phase = corev1.PodSucceeded
			if code != 0 {
				p.Status.Phase, reason = corev1.PodFailed, "Error"
			}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: p.Spec.Containers[0].Name,
				State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
					ExitCode: code, Reason: reason, Message: "the log's last line", FinishedAt: metav1.NewTime(w.now)}}}}
		})
	}
	w.say("%s: exit code %d", strings.Join(orAll(names, []string{"all"}), ", "), code)
}

// restarts sets how often the kubelet has restarted a rank's container.
func (w *world) restarts(name string, n int32) {
	w.change(name, func(p *corev1.Pod) {
		p.Status.ContainerStatuses = slices.Clone(p.Status.ContainerStatuses)
		p.Status.ContainerStatuses[0].RestartCount = n
	})
}

// cannotPull lets a kubelet fail to get the image of a rank.
func (w *world) cannotPull(name, reason string) {
	w.change(name, func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: p.Spec.Containers[0].Name, Image: p.Spec.Containers[0].Image,
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "changes all the time"}},
		}}
	})
	w.say("the kubelet of %s says %s", name, reason)
}

// preempt marks and deletes pods as schedulers do.
func (w *world) preempt(names ...string) {
	w.say("the scheduler preempts %s", strings.Join(names, ", "))
	for _, name := range names {
		w.change(name, func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget,
				Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler, Message: "preempting to accommodate a higher priority pod"})
		})
		w.deletePod(w.find(name))
	}
}

func (w *world) advance(d time.Duration) {
	w.now = w.now.Add(d)
	w.say("%s pass", d)
}

func (w *world) say(format string, args ...any) { fmt.Fprintf(&w.log, format+"\n", args...) }

// tell logs a line of the story and lets the operator work.
func (w *world) tell(format string, args ...any) {
	w.say(format, args...)
	w.converge()
	w.state()
}

// state logs what a user sees.
func (w *world) state() {
	st := w.job.Status
	blocker := ""
	if st.Scheduling != nil && st.Scheduling.Blocker != nil {
		blocker = " blocker=" + st.Scheduling.Blocker.Reason
	}
	w.say("= %s gang=%s attempt=%d restarts=%d preemptions=%d pods=%d group=%t%s | %s",
		st.Phase, st.Gang, st.Attempt, st.Restarts, st.Preemptions, len(w.pods), w.group, blocker, st.Message)
}

// checkPlan holds the invariants that a single plan must keep.
func (w *world) checkPlan(plan Plan) {
	w.t.Helper()
	st := w.job.Status
	if plan.Transition && (len(plan.Create) > 0 || len(plan.Delete) > 0) {
		w.t.Errorf("a transition must commit alone, it creates %d and deletes %d pods", len(plan.Create), len(plan.Delete))
	}
	if len(plan.Create) == 0 {
		return
	}
	if w.verdict.Admission != scheduler.Go {
		w.t.Errorf("invariant 1: creates %d pods under %s", len(plan.Create), w.verdict.Admission)
	}
	if st.Phase.Finished() || st.Phase == v1alpha1.PhaseSuspended || st.Phase == v1alpha1.PhaseDraining {
		w.t.Errorf("invariant 1: creates pods in phase %s", st.Phase)
	}
	if plan.Status.Attempt != st.Attempt {
		w.t.Errorf("invariant 1: creates pods for attempt %d, persisted is %d", plan.Status.Attempt, st.Attempt)
	}
	for _, pod := range w.pods {
		if pod.Labels[v1alpha1.LabelAttempt] != fmt.Sprint(st.Attempt) && !Ended(pod) && !IsResolver(pod) {
			w.t.Errorf("invariant 2: creates pods beside %s of attempt %s", pod.Name, pod.Labels[v1alpha1.LabelAttempt])
		}
	}
}

// checkStatus holds the invariants over two successive statuses.
func (w *world) checkStatus(to v1alpha1.TrainingJobStatus) {
	w.t.Helper()
	from := w.job.Status
	switch {
	case from.Phase.Finished() && to.Phase != from.Phase:
		w.t.Errorf("invariant 5: %s became %s", from.Phase, to.Phase)
	case to.Attempt < from.Attempt || to.Attempt > from.Attempt+1:
		w.t.Errorf("attempt went from %d to %d", from.Attempt, to.Attempt)
	case to.Restarts < from.Restarts || to.Preemptions < from.Preemptions:
		w.t.Errorf("invariant 4: a counter fell: %+v -> %+v", from, to)
	case Scope(w.job) == v1alpha1.ScopeGang && to.Restarts > from.Restarts+1:
		w.t.Errorf("invariant 4: one failure spent %d restarts", to.Restarts-from.Restarts)
	case Scope(w.job) == v1alpha1.ScopeGang && to.Restarts > from.Restarts && to.Attempt != from.Attempt+1:
		w.t.Errorf("invariant 4: a restart is spent without raising the attempt")
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
