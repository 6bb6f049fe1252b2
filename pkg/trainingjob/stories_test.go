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
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

func equalStatus(a, b v1alpha1.TrainingJobStatus) bool { return apiequality.Semantic.DeepEqual(a, b) }

// Stories are simulated histories of one job, told in prose and compared with testdata/stories.
var stories = map[string]struct {
	job  *v1alpha1.TrainingJob
	tell func(*simulation)
}{
	"waits-then-runs": {jobtest.New(4), func(sim *simulation) {
		sim.verdict = scheduler.Verdict{Admission: scheduler.Hold, Judged: true, Reason: "Unschedulable", Message: "8 GPUs are not free"}
		sim.tell("a job of 4 ranks is applied; the scheduler has no room")
		sim.advance(6 * time.Second)
		sim.tell("it still waits, and now says why")
		sim.verdict = scheduler.Verdict{Admission: scheduler.Go, Judged: true}
		sim.tell("room comes")
		sim.up()
		sim.tell("all ranks run")
		sim.exit(0)
		sim.tell("the training ends")
	}},
	"why-it-waits": {jobtest.New(4), func(sim *simulation) {
		short := func(free int64) *scheduler.Explanation {
			return &scheduler.Explanation{
				Reason: scheduler.ReasonInsufficientResources, Message: fmt.Sprintf("needs 8 GPUs, %d free", free), NextStep: "wait",
				Need: corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(8, resource.DecimalSI)},
				Free: corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(free, resource.DecimalSI)},
			}
		}
		sim.verdict = scheduler.Verdict{Admission: scheduler.Hold, Judged: true, Reason: "Unschedulable", Message: "no room"}
		sim.why = short(6)
		sim.tell("a job is applied; there is too little room")
		sim.advance(6 * time.Second)
		sim.tell("it still waits, and says why in numbers: the facts outrank the scheduler's own sentence")
		sim.why = short(2)
		sim.advance(59 * time.Second)
		sim.tell("other numbers within a minute: nothing is written")
		sim.advance(time.Second)
		sim.tell("after a minute they are, without an event")
		sim.advance(time.Minute)
		sim.tell("the same numbers: nothing is written")
		sim.why = &scheduler.Explanation{Reason: scheduler.ReasonQueueClosed, Object: "queues/research", Message: "queue research is Closed", NextStep: "open it"}
		sim.advance(time.Second)
		sim.tell("another reason is written at once, and somebody must act")
		sim.why = &scheduler.Explanation{Reason: scheduler.ReasonQueueClosed, Object: "queues/org", Message: "queue org is Closed"}
		sim.advance(time.Second)
		sim.tell("the same reason, about another object, is another reason")
		sim.obstacle = &observation.CreateBackoff{Blocker: v1alpha1.Blocker{Reason: v1alpha1.ReasonNameTaken, Message: "the name is taken"}}
		sim.advance(time.Second)
		sim.tell("what the API server refuses outranks all of it")
		sim.obstacle, sim.why = nil, nil
		sim.verdict = scheduler.Verdict{Admission: scheduler.Go, Judged: true}
		sim.tell("room comes")
		sim.up()
		sim.tell("all ranks run, and nothing of it is left")
	}},
	"image-cannot-be-pulled": {jobtest.New(2), func(sim *simulation) {
		sim.tell("a job is applied")
		sim.bind()
		sim.cannotPull("bert-worker-1", "ErrImagePull")
		sim.tell("one image cannot be pulled")
		sim.advance(6 * time.Second)
		sim.tell("the gang has its nodes and does not start")
		sim.advance(6 * time.Second)
		sim.tell("it says why")
		sim.cannotPull("bert-worker-1", "ImagePullBackOff")
		sim.advance(time.Minute)
		sim.tell("the kubelet's other word for it is no news")
		sim.start()
		sim.tell("the image is there")
	}},
	"loses-two-ranks-and-returns": {jobtest.New(4), func(sim *simulation) {
		running(sim)
		sim.lingers = true
		sim.preempt("bert-worker-1", "bert-worker-3")
		sim.tell("two of four ranks are preempted: the others must not keep their GPUs")
		sim.exit(1, "bert-worker-0")
		sim.tell("a peer notices and exits 1")
		for _, n := range sim.names() {
			sim.remove(n)
		}
		sim.verdict = scheduler.Verdict{Admission: scheduler.Hold, Judged: true, Reason: "Unschedulable"}
		sim.tell("the grace of the others is over")
		sim.verdict = scheduler.Verdict{Admission: scheduler.Go, Judged: true}
		sim.tell("the scheduler lets the gang in again")
		sim.up()
		sim.tell("all ranks run again")
	}},
	"preempted-while-the-operator-is-dead": {jobtest.New(4), func(sim *simulation) {
		running(sim)
		sim.say("(the operator dies)")
		sim.preempt("bert-worker-1", "bert-worker-2")
		sim.departed = nil
		sim.exit(1, "bert-worker-0")
		sim.tell("(the operator is back) two ranks are gone without a trace, one has failed, one hangs in its collective")
		sim.bind()
		sim.say("(the operator dies again)")
		sim.preempt("bert-worker-1", "bert-worker-2")
		sim.departed = nil
		sim.tell("(the operator is back) the same once more before the gang ran: now a backoff comes first")
		sim.advance(10 * time.Second)
		sim.tell("the backoff is over")
		sim.up()
		sim.tell("all ranks run again")
	}},
	"evicted-by-its-scheduler": {jobtest.New(3), func(sim *simulation) {
		running(sim)
		sim.lingers = true
		for range 2 {
			sim.verdict = scheduler.Verdict{Admission: scheduler.Yield, Judged: true, Reason: "QueueStopped", Message: "the queue is stopped"}
			sim.tell("the scheduler asks for the places back")
			for _, name := range sim.names() {
				sim.remove(name)
			}
			sim.verdict = scheduler.Verdict{Admission: scheduler.Hold, Judged: true, Reason: "QueueStopped", Message: "the queue is stopped"}
			sim.tell("the last pod is gone: the gang is queued again, without a backoff")
			sim.advance(5 * time.Second)
			sim.tell("and says why it waits")
			sim.verdict = scheduler.Verdict{Admission: scheduler.Go, Judged: true}
			sim.tell("the queue is open again")
		}
		sim.up()
		sim.tell("all ranks run")
	}},
	"invalid-while-it-runs": {jobtest.New(3, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.Queue = "research"
	}), func(sim *simulation) {
		running(sim)
		sim.job.Labels = map[string]string{v1alpha1.LabelKueueQueue: "other"}
		sim.tell("a label is edited that contradicts the spec; no rule of the CRD sees labels")
		sim.advance(time.Minute)
		sim.tell("the gang goes on, its group stays, and the blocker says what is wrong")
		sim.preempt("bert-worker-1")
		sim.tell("a rank is preempted")
		sim.advance(6 * time.Second)
		sim.tell("nothing is created for a spec that makes no sense, and what is there of the group stays")
		sim.job.Labels = nil
		sim.tell("the label is removed")
		sim.up()
		sim.tell("all ranks run again")
	}},
	"admitted-in-part": {jobtest.New(4, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(2))
	}), func(sim *simulation) {
		sim.verdict = scheduler.Verdict{Admission: scheduler.Go, Judged: true, Admitted: map[string]int32{"worker": 3}}
		sim.tell("the scheduler lets three of four ranks in")
		sim.up()
		sim.tell("the three run: they are the gang")
		sim.exit(0, "bert-worker-0", "bert-worker-1", "bert-worker-2")
		sim.tell("and finish")
	}},
	"fails-until-the-limit": {jobtest.New(2, func(j *v1alpha1.TrainingJob) { j.Spec.BackoffLimit = new(int32(1)) }), func(sim *simulation) {
		running(sim)
		sim.exit(1, "bert-worker-1")
		sim.tell("a rank exits 1")
		sim.advance(9 * time.Second)
		sim.tell("the backoff is not over")
		sim.advance(time.Second)
		sim.tell("the backoff is over")
		sim.up()
		sim.tell("all ranks run again")
		sim.exit(137, "bert-worker-0")
		sim.tell("another rank is killed: backoffLimit is spent")
	}},
	"a-dying-node-outranks-exit-codes": {jobtest.New(3), func(sim *simulation) {
		running(sim)
		sim.lingers = true
		sim.say("node-2 dies; nobody knows yet")
		sim.exit(1, "bert-worker-0", "bert-worker-1")
		sim.tell("its peers exit 1 first")
		sim.advance(40 * time.Second)
		sim.nodes["node-2"] = observation.NodeState{}
		sim.tell("the node is NotReady, the third pod's deletion hangs")
		sim.remove("bert-worker-2")
		sim.tell("somebody deletes the node, and pod GC the pod")
	}},
	"permanent-exit-code": {jobtest.New(2, func(j *v1alpha1.TrainingJob) { j.Spec.RestartPolicy = v1alpha1.RestartExitCode }), func(sim *simulation) {
		running(sim)
		sim.exit(143, "bert-worker-0")
		sim.tell("exit code 143 may be retried")
		sim.advance(10 * time.Second)
		sim.tell("again")
		sim.up()
		sim.tell("all ranks run")
		sim.exit(2, "bert-worker-0")
		sim.tell("exit code 2 is permanent")
	}},
	"suspend-and-resume": {jobtest.New(2), func(sim *simulation) {
		running(sim)
		suspend(sim, true)
		sim.tell("the user suspends the job")
		suspend(sim, false)
		sim.tell("and resumes it")
		sim.up()
		sim.tell("all ranks run")
	}},
	"suspended-from-the-start": {jobtest.New(2), func(sim *simulation) {
		suspend(sim, true)
		sim.tell("a suspended job is applied")
		suspend(sim, false)
		sim.tell("and resumed")
	}},
	"resize": {jobtest.New(4), func(sim *simulation) {
		running(sim)
		sim.lingers = true
		sim.job.Spec.Replicas = new(int32(2))
		sim.job.Generation++
		sim.tell("the job is scaled from 4 to 2")
		for _, n := range sim.names() {
			sim.remove(n)
		}
		sim.tell("the old ranks are gone")
		sim.up()
		sim.tell("both ranks run")
	}},
	"resize-up": {jobtest.New(2), func(sim *simulation) {
		running(sim)
		sim.job.Spec.Replicas = new(int32(4))
		sim.job.Generation++
		sim.tell("the job is scaled from 2 to 4: it has lost nobody")
		sim.up()
		sim.tell("all four run")
	}},
	"schedule-timeout": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.ScheduleTimeoutSeconds = new(int32(60))
	}), func(sim *simulation) {
		sim.tell("a job with a schedule timeout of 60 s is applied")
		sim.advance(59 * time.Second)
		sim.tell("not yet")
		sim.advance(time.Second)
		sim.tell("now: its pods and its place in the queue are given back")
		sim.advance(10 * time.Second)
		sim.tell("it queues again")
		sim.advance(60 * time.Second)
		sim.tell("and again gives up its place, for longer")
	}},
	"deadline-and-ttl": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.ActiveDeadlineSeconds = new(int64(3600))
		j.Spec.RunPolicy.TTLSecondsAfterFinished = new(int32(60))
	}), func(sim *simulation) {
		sim.tell("queued")
		sim.advance(2 * time.Hour)
		sim.tell("the time in the queue does not count")
		sim.up()
		sim.tell("running")
		sim.advance(time.Hour)
		sim.tell("the deadline")
		sim.advance(time.Minute)
		sim.tell("the time to live is over")
	}},
	"leader-decides": {jobtest.New(0, jobtest.Roles), func(sim *simulation) {
		running(sim)
		sim.exit(0, "bert-master-0")
		sim.tell("the Master exits 0: the Workers need not")
	}},
	"rank-scope-replaces-singly": {jobtest.New(4, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
		j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(3))
	}), func(sim *simulation) {
		running(sim)
		sim.preempt("bert-worker-3")
		sim.tell("scope Rank, minAvailable 3: one of four ranks is preempted, the others go on")
		sim.preempt("bert-worker-0")
		sim.tell("a second one: below minAvailable, everything goes back")
	}},
	"slow-start": {jobtest.New(2), func(sim *simulation) {
		sim.tell("applied")
		sim.bind()
		sim.tell("placed; images are being pulled")
		sim.advance(6 * time.Second)
		sim.tell("that takes a while")
		sim.start()
		sim.tell("all ranks run")
	}},
	"preempted-while-starting": {jobtest.New(3), func(sim *simulation) {
		sim.tell("applied")
		sim.bind()
		sim.tell("placed")
		sim.preempt("bert-worker-0")
		sim.tell("preempted before it ever ran")
	}},
	"scheduler-not-installed": {jobtest.New(2), func(sim *simulation) {
		b := sim.backend
		sim.backend, sim.problem = nil, &v1alpha1.Blocker{Reason: v1alpha1.ReasonSchedulerMissing,
			Message: "the cluster does not serve scheduling.volcano.sh/v1beta1 PodGroup", NextStep: "install Volcano"}
		sim.tell("a job is applied to a cluster without its scheduler")
		sim.backend, sim.problem = b, nil
		sim.tell("the scheduler is installed")
	}},
	"quota-refuses-part": {jobtest.New(3), func(sim *simulation) {
		sim.tell("applied")
		sim.deletePod(sim.find("bert-worker-2"))
		sim.obstacle = &observation.CreateBackoff{GiveBack: true, RetryTime: sim.now.Add(20 * time.Second),
			Blocker: v1alpha1.Blocker{Reason: v1alpha1.ReasonQuotaExceeded, Message: "quota gpus: 403"}}
		sim.tell("the namespace's quota refuses the third rank: the other two hold nothing meanwhile")
		sim.advance(6 * time.Second)
		sim.tell("it says so")
		sim.advance(20 * time.Second)
		sim.tell("and tries again")
	}},
	"invalid-spec": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(9))
	}), func(sim *simulation) {
		sim.tell("a job that makes no sense is applied, and the API server has let it through")
	}},
	"all-ranks-vanish-while-the-operator-is-dead": {jobtest.New(3), func(sim *simulation) {
		running(sim)
		sim.say("(the operator dies)")
		sim.preempt("bert-worker-0", "bert-worker-1", "bert-worker-2")
		sim.departed = nil
		sim.tell("(the operator is back) no rank is left, and nothing says why")
	}},
	"one-of-many-vanishes-above-the-minimum": {jobtest.New(4, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(2))
	}), func(sim *simulation) {
		running(sim)
		sim.say("(the operator dies)")
		sim.preempt("bert-worker-3")
		sim.departed = nil
		sim.tell("(the operator is back) scope Gang: the loss of any rank ends the attempt, also above minAvailable")
	}},
	"a-rank-that-had-succeeded-runs-again": {jobtest.New(3), func(sim *simulation) {
		running(sim)
		sim.exit(0, "bert-worker-0")
		sim.advance(6 * time.Second)
		sim.tell("one rank is through")
		sim.preempt("bert-worker-2")
		sim.tell("another is preempted: the next attempt is of all three")
		sim.up()
		sim.tell("all ranks run")
	}},
	"rank-scope-pod-fails": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
		j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(1))
	}), func(sim *simulation) {
		running(sim)
		sim.exit(1, "bert-worker-1")
		sim.tell("scope Rank: the kubelet restarts containers, so a failed pod is no failure of the trainer: it alone is replaced")
	}},
	"rank-scope-restarts-are-spent": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
		j.Spec.BackoffLimit = new(int32(2))
	}), func(sim *simulation) {
		running(sim)
		sim.restarts("bert-worker-0", 1)
		sim.restarts("bert-worker-1", 1)
		sim.advance(6 * time.Second)
		sim.tell("the kubelets restarted two containers")
		sim.restarts("bert-worker-1", 2)
		sim.tell("and a third time: backoffLimit 2 is spent")
	}},
	"restart-by-annotation": {jobtest.New(2), func(sim *simulation) {
		running(sim)
		sim.job.Annotations = map[string]string{v1alpha1.AnnotationRestart: "1"}
		sim.tell("the user asks for a restart")
		sim.up()
		sim.tell("all ranks run")
	}},
	"finished-ranks-are-remembered": {jobtest.New(3), func(sim *simulation) {
		running(sim)
		sim.exit(0, "bert-worker-0")
		sim.advance(6 * time.Second)
		sim.tell("one rank is through")
		sim.remove("bert-worker-0")
		sim.departed = nil
		sim.tell("pod GC takes its pod: it is no loss")
		sim.exit(0)
		sim.tell("the others end too")
	}},
	"pending-pod-deleted-by-hand": {jobtest.New(2), func(sim *simulation) {
		sim.tell("queued, pods pending")
		sim.deletePod(sim.find("bert-worker-1"))
		sim.tell("a pending pod is deleted by hand: it held nothing, so it is created again")
	}},
}

func TestStories(t *testing.T) {
	for name, story := range stories {
		t.Run(name, func(t *testing.T) { playStory(t, name, story.job, story.tell) })
	}
}

func playStory(t *testing.T, name string, job *v1alpha1.TrainingJob, tell func(*simulation)) {
	t.Helper()
	sim := newSimulation(t, job.DeepCopy())
	tell(sim)
	golden := filepath.Join("testdata", "stories", name+".txt")
	if *update {
		if err := os.WriteFile(golden, []byte(sim.log.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), sim.log.String()); diff != "" {
		t.Errorf("the story went another way (-want +got):\n%s", diff)
	}
	settled(t, sim)
}

// settled: once nothing changes any more, further passes write nothing.
func settled(t *testing.T, sim *simulation) {
	sim.converge()
	writes := sim.statusWrites
	for range 10 {
		if sim.pass() {
			t.Error("a pass over an unchanged simulation changed something")
		}
	}
	if sim.statusWrites != writes {
		t.Errorf("ten idle passes wrote the status %d times", sim.statusWrites-writes)
	}
}

// TestWritesUntilRunning holds the floor: a gang that runs at once costs two status writes.
func TestWritesUntilRunning(t *testing.T) {
	sim := newSimulation(t, jobtest.New(8))
	sim.converge()
	sim.bind()
	sim.converge()
	for _, n := range sim.names() {
		sim.start(n)
		sim.converge()
	}
	if sim.job.Status.Phase != v1alpha1.PhaseRunning || sim.statusWrites != 2 {
		t.Errorf("phase %s after %d status writes, want Running after 2", sim.job.Status.Phase, sim.statusWrites)
	}
}

// TestStricterRulesFailNobody: an upgraded operator finds fault with a spec that its predecessor accepted;
// the job runs on.
func TestStricterRulesFailNobody(t *testing.T) {
	sim := newSimulation(t, jobtest.New(2))
	running(sim)
	sim.job.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(9)) // as if this had been legal
	sim.job.Status.Revision = spec.Revision(sim.job)
	sim.converge()
	if got := sim.job.Status.Phase; got != v1alpha1.PhaseRunning {
		t.Errorf("the job is %s, want Running", got)
	}
	sim.job.Generation++ // now the user edits it
	sim.converge()
	if got := sim.job.Status.Phase; got != v1alpha1.PhaseFailed {
		t.Errorf("the edited job is %s, want Failed", got)
	}
}

// TestLargeJobIsASmallObject: 5,000 ranks, each of them in trouble, stay far below what etcd and every watch
// can bear.
func TestLargeJobIsASmallObject(t *testing.T) {
	sim := newSimulation(t, jobtest.New(5000))
	running(sim)
	for i, name := range sim.names() {
		if i%2 == 0 {
			sim.exit(0, name)
		}
	}
	sim.advance(time.Minute)
	sim.converge()
	text, err := json.Marshal(sim.job)
	if err != nil {
		t.Fatal(err)
	}
	if got := sim.job.Status.ReplicaStatuses[v1alpha1.RoleWorker].Succeeded; got != 2500 {
		t.Errorf("%d ranks have succeeded, want 2500", got)
	}
	if most := 100_000; len(text) > most {
		t.Errorf("the object has %d bytes, want at most %d", len(text), most)
	}
}

func running(sim *simulation) {
	sim.say("a job of %d ranks runs", spec.Ranks(sim.job))
	sim.converge()
	sim.log.Reset()
	sim.bind()
	sim.start()
	sim.converge()
	sim.advance(6 * time.Second)
	sim.converge()
	sim.log.Reset()
	if sim.job.Status.Phase != v1alpha1.PhaseRunning {
		sim.t.Fatalf("the job is %s, want Running", sim.job.Status.Phase)
	}
	sim.say("a job of %d ranks runs", spec.Ranks(sim.job))
}

func suspend(sim *simulation, yes bool) {
	sim.job.Spec.RunPolicy.Suspend = &yes
	sim.job.Generation++
}
