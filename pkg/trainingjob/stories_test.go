package trainingjob

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

func equalStatus(a, b v1alpha1.TrainingJobStatus) bool { return apiequality.Semantic.DeepEqual(a, b) }

// Stories are simulated histories of one job, told in prose and compared with testdata/stories.
var stories = map[string]struct {
	job  *v1alpha1.TrainingJob
	tell func(*world)
}{
	"waits-then-runs": {newJob(4), func(w *world) {
		w.verdict = scheduler.Verdict{Admission: scheduler.Hold, Judged: true, Reason: "Unschedulable", Message: "8 GPUs are not free"}
		w.tell("a job of 4 ranks is applied; the scheduler has no room")
		w.advance(6 * time.Second)
		w.tell("it still waits, and now says why")
		w.verdict = scheduler.Verdict{Admission: scheduler.Go, Judged: true}
		w.tell("room comes")
		w.up()
		w.tell("all ranks run")
		w.exit(0)
		w.tell("the training ends")
	}},
	"why-it-waits": {newJob(4), func(w *world) {
		short := func(free int64) *scheduler.Explanation {
			return &scheduler.Explanation{
				Reason: scheduler.ReasonInsufficientResources, Message: fmt.Sprintf("needs 8 GPUs, %d free", free), NextStep: "wait",
				Need: corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(8, resource.DecimalSI)},
				Free: corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(free, resource.DecimalSI)},
			}
		}
		w.verdict = scheduler.Verdict{Admission: scheduler.Hold, Judged: true, Reason: "Unschedulable", Message: "no room"}
		w.why = short(6)
		w.tell("a job is applied; there is too little room")
		w.advance(6 * time.Second)
		w.tell("it still waits, and says why in numbers: the facts outrank the scheduler's own sentence")
		w.why = short(2)
		w.advance(59 * time.Second)
		w.tell("other numbers within a minute: nothing is written")
		w.advance(time.Second)
		w.tell("after a minute they are, without an event")
		w.advance(time.Minute)
		w.tell("the same numbers: nothing is written")
		w.why = &scheduler.Explanation{Reason: scheduler.ReasonQueueClosed, Object: "queues/research", Message: "queue research is Closed", NextStep: "open it"}
		w.advance(time.Second)
		w.tell("another reason is written at once, and somebody must act")
		w.why = &scheduler.Explanation{Reason: scheduler.ReasonQueueClosed, Object: "queues/org", Message: "queue org is Closed"}
		w.advance(time.Second)
		w.tell("the same reason, about another object, is another reason")
		w.obstacle = &CreateBackoff{Blocker: v1alpha1.Blocker{Reason: v1alpha1.ReasonNameTaken, Message: "the name is taken"}}
		w.advance(time.Second)
		w.tell("what the API server refuses outranks all of it")
		w.obstacle, w.why = nil, nil
		w.verdict = scheduler.Verdict{Admission: scheduler.Go, Judged: true}
		w.tell("room comes")
		w.up()
		w.tell("all ranks run, and nothing of it is left")
	}},
	"image-cannot-be-pulled": {newJob(2), func(w *world) {
		w.tell("a job is applied")
		w.bind()
		w.cannotPull("bert-worker-1", "ErrImagePull")
		w.tell("one image cannot be pulled")
		w.advance(6 * time.Second)
		w.tell("the gang has its nodes and does not start")
		w.advance(6 * time.Second)
		w.tell("it says why")
		w.cannotPull("bert-worker-1", "ImagePullBackOff")
		w.advance(time.Minute)
		w.tell("the kubelet's other word for it is no news")
		w.start()
		w.tell("the image is there")
	}},
	"loses-two-ranks-and-returns": {newJob(4), func(w *world) {
		running(w)
		w.lingers = true
		w.preempt("bert-worker-1", "bert-worker-3")
		w.tell("two of four ranks are preempted: the others must not keep their GPUs")
		w.exit(1, "bert-worker-0")
		w.tell("a peer notices and exits 1")
		for _, n := range w.names() {
			w.remove(n)
		}
		w.verdict = scheduler.Verdict{Admission: scheduler.Hold, Judged: true, Reason: "Unschedulable"}
		w.tell("the grace of the others is over")
		w.verdict = scheduler.Verdict{Admission: scheduler.Go, Judged: true}
		w.tell("the scheduler lets the gang in again")
		w.up()
		w.tell("all ranks run again")
	}},
	"preempted-while-the-operator-is-dead": {newJob(4), func(w *world) {
		running(w)
		w.say("(the operator dies)")
		w.preempt("bert-worker-1", "bert-worker-2")
		w.departed = nil
		w.exit(1, "bert-worker-0")
		w.tell("(the operator is back) two ranks are gone without a trace, one has failed, one hangs in its collective")
		w.bind()
		w.say("(the operator dies again)")
		w.preempt("bert-worker-1", "bert-worker-2")
		w.departed = nil
		w.tell("(the operator is back) the same once more before the gang ran: now a backoff comes first")
		w.advance(10 * time.Second)
		w.tell("the backoff is over")
		w.up()
		w.tell("all ranks run again")
	}},
	"evicted-by-its-scheduler": {newJob(3), func(w *world) {
		running(w)
		w.lingers = true
		for range 2 {
			w.verdict = scheduler.Verdict{Admission: scheduler.Yield, Judged: true, Reason: "QueueStopped", Message: "the queue is stopped"}
			w.tell("the scheduler asks for the places back")
			for _, name := range w.names() {
				w.remove(name)
			}
			w.verdict = scheduler.Verdict{Admission: scheduler.Hold, Judged: true, Reason: "QueueStopped", Message: "the queue is stopped"}
			w.tell("the last pod is gone: the gang is queued again, without a backoff")
			w.advance(5 * time.Second)
			w.tell("and says why it waits")
			w.verdict = scheduler.Verdict{Admission: scheduler.Go, Judged: true}
			w.tell("the queue is open again")
		}
		w.up()
		w.tell("all ranks run")
	}},
	"admitted-in-part": {newJob(4, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = ptr[int32](2)
	}), func(w *world) {
		w.verdict = scheduler.Verdict{Admission: scheduler.Go, Judged: true, Admitted: map[string]int32{"worker": 3}}
		w.tell("the scheduler lets three of four ranks in")
		w.up()
		w.tell("the three run: they are the gang")
		w.exit(0, "bert-worker-0", "bert-worker-1", "bert-worker-2")
		w.tell("and finish")
	}},
	"fails-until-the-limit": {newJob(2, func(j *v1alpha1.TrainingJob) { j.Spec.BackoffLimit = ptr[int32](1) }), func(w *world) {
		running(w)
		w.exit(1, "bert-worker-1")
		w.tell("a rank exits 1")
		w.advance(9 * time.Second)
		w.tell("the backoff is not over")
		w.advance(time.Second)
		w.tell("the backoff is over")
		w.up()
		w.tell("all ranks run again")
		w.exit(137, "bert-worker-0")
		w.tell("another rank is killed: backoffLimit is spent")
	}},
	"a-dying-node-outranks-exit-codes": {newJob(3), func(w *world) {
		running(w)
		w.lingers = true
		w.say("node-2 dies; nobody knows yet")
		w.exit(1, "bert-worker-0", "bert-worker-1")
		w.tell("its peers exit 1 first")
		w.advance(40 * time.Second)
		w.nodes["node-2"] = NodeState{}
		w.tell("the node is NotReady, the third pod's deletion hangs")
		w.remove("bert-worker-2")
		w.tell("somebody deletes the node, and pod GC the pod")
	}},
	"permanent-exit-code": {newJob(2, func(j *v1alpha1.TrainingJob) { j.Spec.RestartPolicy = v1alpha1.RestartExitCode }), func(w *world) {
		running(w)
		w.exit(143, "bert-worker-0")
		w.tell("exit code 143 may be retried")
		w.advance(10 * time.Second)
		w.tell("again")
		w.up()
		w.tell("all ranks run")
		w.exit(2, "bert-worker-0")
		w.tell("exit code 2 is permanent")
	}},
	"suspend-and-resume": {newJob(2), func(w *world) {
		running(w)
		suspend(w, true)
		w.tell("the user suspends the job")
		suspend(w, false)
		w.tell("and resumes it")
		w.up()
		w.tell("all ranks run")
	}},
	"suspended-from-the-start": {newJob(2), func(w *world) {
		suspend(w, true)
		w.tell("a suspended job is applied")
		suspend(w, false)
		w.tell("and resumed")
	}},
	"resize": {newJob(4), func(w *world) {
		running(w)
		w.lingers = true
		w.job.Spec.Replicas = ptr[int32](2)
		w.job.Generation++
		w.tell("the job is scaled from 4 to 2")
		for _, n := range w.names() {
			w.remove(n)
		}
		w.tell("the old ranks are gone")
		w.up()
		w.tell("both ranks run")
	}},
	"resize-up": {newJob(2), func(w *world) {
		running(w)
		w.job.Spec.Replicas = ptr[int32](4)
		w.job.Generation++
		w.tell("the job is scaled from 2 to 4: it has lost nobody")
		w.up()
		w.tell("all four run")
	}},
	"schedule-timeout": {newJob(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.ScheduleTimeoutSeconds = ptr[int32](60)
	}), func(w *world) {
		w.tell("a job with a schedule timeout of 60 s is applied")
		w.advance(59 * time.Second)
		w.tell("not yet")
		w.advance(time.Second)
		w.tell("now: its pods and its place in the queue are given back")
		w.advance(10 * time.Second)
		w.tell("it queues again")
		w.advance(60 * time.Second)
		w.tell("and again gives up its place, for longer")
	}},
	"deadline-and-ttl": {newJob(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.ActiveDeadlineSeconds = ptr[int64](3600)
		j.Spec.RunPolicy.TTLSecondsAfterFinished = ptr[int32](60)
	}), func(w *world) {
		w.tell("queued")
		w.advance(2 * time.Hour)
		w.tell("the time in the queue does not count")
		w.up()
		w.tell("running")
		w.advance(time.Hour)
		w.tell("the deadline")
		w.advance(time.Minute)
		w.tell("the time to live is over")
	}},
	"leader-decides": {newJob(0, withRoles), func(w *world) {
		running(w)
		w.exit(0, "bert-master-0")
		w.tell("the Master exits 0: the Workers need not")
	}},
	"rank-scope-replaces-singly": {newJob(4, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
		j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = ptr[int32](3)
	}), func(w *world) {
		running(w)
		w.preempt("bert-worker-3")
		w.tell("scope Rank, minAvailable 3: one of four ranks is preempted, the others go on")
		w.preempt("bert-worker-0")
		w.tell("a second one: below minAvailable, everything goes back")
	}},
	"slow-start": {newJob(2), func(w *world) {
		w.tell("applied")
		w.bind()
		w.tell("placed; images are being pulled")
		w.advance(6 * time.Second)
		w.tell("that takes a while")
		w.start()
		w.tell("all ranks run")
	}},
	"preempted-while-starting": {newJob(3), func(w *world) {
		w.tell("applied")
		w.bind()
		w.tell("placed")
		w.preempt("bert-worker-0")
		w.tell("preempted before it ever ran")
	}},
	"scheduler-not-installed": {newJob(2), func(w *world) {
		b := w.backend
		w.backend, w.problem = nil, &v1alpha1.Blocker{Reason: v1alpha1.ReasonSchedulerMissing,
			Message: "the cluster does not serve scheduling.volcano.sh/v1beta1 PodGroup", NextStep: "install Volcano"}
		w.tell("a job is applied to a cluster without its scheduler")
		w.backend, w.problem = b, nil
		w.tell("the scheduler is installed")
	}},
	"quota-refuses-part": {newJob(3), func(w *world) {
		w.tell("applied")
		w.deletePod(w.find("bert-worker-2"))
		w.obstacle = &CreateBackoff{GiveBack: true, RetryTime: w.now.Add(20 * time.Second),
			Blocker: v1alpha1.Blocker{Reason: v1alpha1.ReasonQuotaExceeded, Message: "quota gpus: 403"}}
		w.tell("the namespace's quota refuses the third rank: the other two hold nothing meanwhile")
		w.advance(6 * time.Second)
		w.tell("it says so")
		w.advance(20 * time.Second)
		w.tell("and tries again")
	}},
	"invalid-spec": {newJob(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = ptr[int32](9)
	}), func(w *world) {
		w.tell("a job that makes no sense is applied, and the API server has let it through")
	}},
	"all-ranks-vanish-while-the-operator-is-dead": {newJob(3), func(w *world) {
		running(w)
		w.say("(the operator dies)")
		w.preempt("bert-worker-0", "bert-worker-1", "bert-worker-2")
		w.departed = nil
		w.tell("(the operator is back) no rank is left, and nothing says why")
	}},
	"one-of-many-vanishes-above-the-minimum": {newJob(4, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = ptr[int32](2)
	}), func(w *world) {
		running(w)
		w.say("(the operator dies)")
		w.preempt("bert-worker-3")
		w.departed = nil
		w.tell("(the operator is back) scope Gang: the loss of any rank ends the attempt, also above minAvailable")
	}},
	"a-rank-that-had-succeeded-runs-again": {newJob(3), func(w *world) {
		running(w)
		w.exit(0, "bert-worker-0")
		w.advance(6 * time.Second)
		w.tell("one rank is through")
		w.preempt("bert-worker-2")
		w.tell("another is preempted: the next attempt is of all three")
		w.up()
		w.tell("all ranks run")
	}},
	"rank-scope-pod-fails": {newJob(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
		j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = ptr[int32](1)
	}), func(w *world) {
		running(w)
		w.exit(1, "bert-worker-1")
		w.tell("scope Rank: the kubelet restarts containers, so a failed pod is no failure of the trainer: it alone is replaced")
	}},
	"rank-scope-restarts-are-spent": {newJob(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
		j.Spec.BackoffLimit = ptr[int32](2)
	}), func(w *world) {
		running(w)
		w.restarts("bert-worker-0", 1)
		w.restarts("bert-worker-1", 1)
		w.advance(6 * time.Second)
		w.tell("the kubelets restarted two containers")
		w.restarts("bert-worker-1", 2)
		w.tell("and a third time: backoffLimit 2 is spent")
	}},
	"restart-by-annotation": {newJob(2), func(w *world) {
		running(w)
		w.job.Annotations = map[string]string{v1alpha1.AnnotationRestart: "1"}
		w.tell("the user asks for a restart")
		w.up()
		w.tell("all ranks run")
	}},
	"finished-ranks-are-remembered": {newJob(3), func(w *world) {
		running(w)
		w.exit(0, "bert-worker-0")
		w.advance(6 * time.Second)
		w.tell("one rank is through")
		w.remove("bert-worker-0")
		w.departed = nil
		w.tell("pod GC takes its pod: it is no loss")
		w.exit(0)
		w.tell("the others end too")
	}},
	"pending-pod-deleted-by-hand": {newJob(2), func(w *world) {
		w.tell("queued, pods pending")
		w.deletePod(w.find("bert-worker-1"))
		w.tell("a pending pod is deleted by hand: it held nothing, so it is created again")
	}},
}

func TestStories(t *testing.T) {
	for name, story := range stories {
		t.Run(name, func(t *testing.T) { playStory(t, name, story.job, story.tell) })
	}
}

func playStory(t *testing.T, name string, job *v1alpha1.TrainingJob, tell func(*world)) {
	t.Helper()
	w := newWorld(t, job.DeepCopy())
	tell(w)
	golden := filepath.Join("testdata", "stories", name+".txt")
	if *update {
		if err := os.WriteFile(golden, []byte(w.log.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), w.log.String()); diff != "" {
		t.Errorf("the story went another way (-want +got):\n%s", diff)
	}
	settled(t, w)
}

// settled: once nothing changes any more, further passes write nothing.
func settled(t *testing.T, w *world) {
	w.converge()
	writes := w.statusWrites
	for range 10 {
		if w.pass() {
			t.Error("a pass over an unchanged world changed something")
		}
	}
	if w.statusWrites != writes {
		t.Errorf("ten idle passes wrote the status %d times", w.statusWrites-writes)
	}
}

// TestWritesUntilRunning holds the floor: a gang that runs at once costs two status writes.
func TestWritesUntilRunning(t *testing.T) {
	w := newWorld(t, newJob(8))
	w.converge()
	w.bind()
	w.converge()
	for _, n := range w.names() {
		w.start(n)
		w.converge()
	}
	if w.job.Status.Phase != v1alpha1.PhaseRunning || w.statusWrites != 2 {
		t.Errorf("phase %s after %d status writes, want Running after 2", w.job.Status.Phase, w.statusWrites)
	}
}

// TestStricterRulesFailNobody: an upgraded operator finds fault with a spec that its predecessor accepted; the job runs on.
func TestStricterRulesFailNobody(t *testing.T) {
	w := newWorld(t, newJob(2))
	running(w)
	w.job.Spec.RunPolicy.SchedulingPolicy.MinAvailable = ptr[int32](9) // as if this had been legal
	w.job.Status.Revision = Revision(w.job)
	w.converge()
	if got := w.job.Status.Phase; got != v1alpha1.PhaseRunning {
		t.Errorf("the job is %s, want Running", got)
	}
	w.job.Generation++ // now the user edits it
	w.converge()
	if got := w.job.Status.Phase; got != v1alpha1.PhaseFailed {
		t.Errorf("the edited job is %s, want Failed", got)
	}
}

// TestLargeJobIsASmallObject: 5,000 ranks, each of them in trouble, stay far below what etcd and every watch can bear.
func TestLargeJobIsASmallObject(t *testing.T) {
	w := newWorld(t, newJob(5000))
	running(w)
	for i, name := range w.names() {
		if i%2 == 0 {
			w.exit(0, name)
		}
	}
	w.advance(time.Minute)
	w.converge()
	text, err := json.Marshal(w.job)
	if err != nil {
		t.Fatal(err)
	}
	if got := w.job.Status.ReplicaStatuses[v1alpha1.RoleWorker].Succeeded; got != 2500 {
		t.Errorf("%d ranks have succeeded, want 2500", got)
	}
	if most := 100_000; len(text) > most {
		t.Errorf("the object has %d bytes, want at most %d", len(text), most)
	}
}

func running(w *world) {
	w.say("a job of %d ranks runs", Ranks(w.job))
	w.converge()
	w.log.Reset()
	w.bind()
	w.start()
	w.converge()
	w.advance(6 * time.Second)
	w.converge()
	w.log.Reset()
	if w.job.Status.Phase != v1alpha1.PhaseRunning {
		w.t.Fatalf("the job is %s, want Running", w.job.Status.Phase)
	}
	w.say("a job of %d ranks runs", Ranks(w.job))
}

func suspend(w *world, yes bool) {
	w.job.Spec.RunPolicy.Suspend = &yes
	w.job.Generation++
}

func withRoles(j *v1alpha1.TrainingJob) {
	pod := corev1.PodSpec{Containers: []corev1.Container{{Name: "pytorch", Image: "bert:1"}}}
	j.Spec.Image, j.Spec.Command, j.Spec.Replicas, j.Spec.Resources = "", nil, nil, corev1.ResourceRequirements{}
	j.Spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{
		v1alpha1.RoleMaster: {Template: corev1.PodTemplateSpec{Spec: *pod.DeepCopy()}},
		v1alpha1.RoleWorker: {Replicas: ptr[int32](2), Template: corev1.PodTemplateSpec{Spec: pod}},
	}
}

func ptr[T any](v T) *T { return &v }
