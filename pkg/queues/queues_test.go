package queues

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	pluginsv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

const gpu = "nvidia.com/gpu"

func list(pairs ...string) corev1.ResourceList {
	all := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		all[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return all
}

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// job of 4 GPUs, created at a minute of the hour.
func job(
	namespace, name string, scheduler v1alpha1.SchedulerName, queue string, phase v1alpha1.Phase, class string,
	minute int,
) v1alpha1.TrainingJob {
	j := v1alpha1.TrainingJob{ObjectMeta: named(namespace, name)}
	j.CreationTimestamp = metav1.NewTime(time.Date(2026, 11, 25, 12, minute, 0, 0, time.UTC))
	j.Spec.RunPolicy.SchedulingPolicy.PriorityClass = class
	j.Status.Phase, j.Status.GPUs = phase, 4
	j.Status.Scheduling = &v1alpha1.SchedulingStatus{
		Scheduler: scheduler, Queue: queue, Blocker: &v1alpha1.Blocker{Reason: "QuotaExceeded"},
	}
	return j
}

// text of queues, one line for each of their parts.
func text(queues []Queue) string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	value := func(s *string) string {
		if s == nil {
			return "-"
		}
		return *s
	}
	for _, q := range queues {
		add("%s %s %s/%s parent=%s state=%s", q.Scheduler, q.Kind, q.Namespace, q.Name, q.Parent, q.State)
		for _, r := range q.Resources {
			add("  %s%s limit=%s unlimited=%t guaranteed=%s deserved=%s used=%s borrowed=%s free=%s", r.Flavor, r.Name,
				value(r.Limit), r.Unlimited, value(r.Guaranteed), value(r.Deserved), value(r.Used), value(r.Borrowed),
				value(r.Free))
		}
		for _, j := range q.Running {
			add("  runs %s/%s", j.Namespace, j.Name)
		}
		for _, j := range q.Waiting {
			add("  waits %s/%s %s", j.Namespace, j.Name, j.Reason)
		}
		add("  GPUs: %d run, %d wait", q.RunningGPUs, q.WaitingGPUs)
	}
	return strings.Join(lines, "\n")
}

var classObjects = []schedulingv1.PriorityClass{
	{ObjectMeta: named("", "high"), Value: 1000}, {ObjectMeta: named("", "low"), Value: -5},
	{ObjectMeta: named("", "usual"), Value: 10, GlobalDefault: true},
}

// TestUnknownGPUs: a sum that lacks the GPUs of a job is a lower bound.
func TestUnknownGPUs(t *testing.T) {
	claims := job("a", "claims", "volcano", "research", "Running", "", 0)
	claims.Status.GPUs, claims.Status.GPUsUnknown = 0, "ResourceClaimTemplate all-gpus does not exist"
	fresh := job("a", "fresh", "volcano", "research", "", "", 0)
	fresh.Status.GPUs = 0
	counted := job("a", "counted", "volcano", "research", "Queued", "", 0)
	for _, tc := range []struct {
		jobs []v1alpha1.TrainingJob
		want string
	}{
		{[]v1alpha1.TrainingJob{counted}, "0 false, 4 false"},
		{[]v1alpha1.TrainingJob{claims, counted}, "0 true, 4 false"},
		{[]v1alpha1.TrainingJob{fresh, counted}, "0 false, 4 true"},
	} {
		q := Of(Objects{VolcanoQueues: []volcanov1beta1.Queue{{ObjectMeta: named("", "research")}}}, tc.jobs)[0]
		got := fmt.Sprintf("%d %t, %d %t",
			q.RunningGPUs, UnknownGPUs(q.Running), q.WaitingGPUs, UnknownGPUs(q.Waiting))
		if got != tc.want {
			t.Errorf("%s, want %s", got, tc.want)
		}
	}
}

func TestVolcano(t *testing.T) {
	objects := Objects{PriorityClasses: classObjects, VolcanoQueues: []volcanov1beta1.Queue{
		{
			ObjectMeta: named("", "research"),
			Spec: volcanov1beta1.QueueSpec{
				Parent: "root", Capability: list(gpu, "16"), Deserved: list(gpu, "8"),
				Guarantee: volcanov1beta1.Guarantee{Resource: list(gpu, "2")},
			},
			Status: volcanov1beta1.QueueStatus{
				State: volcanov1beta1.QueueStateOpen, Allocated: list(gpu, "12", "cpu", "3"),
			},
		},
		{
			ObjectMeta: named("", "default"),
			Status:     volcanov1beta1.QueueStatus{State: volcanov1beta1.QueueStateClosed},
		},
	}}
	jobs := []v1alpha1.TrainingJob{
		job("b", "younger", "volcano", "research", "Queued", "high", 2),
		job("a", "older", "volcano", "research", "Queued", "high", 1),
		job("a", "nowhere", "volcano", "research", "Queued", "gone", 0),
		job("a", "low", "volcano", "research", "Queued", "low", 0),
		job("a", "usual", "volcano", "research", "Queued", "", 9),
		job("a", "runs", "volcano", "research", "Running", "", 0),
		job("a", "over", "volcano", "research", "Succeeded", "", 0),
		job("a", "elsewhere", "kueue", "research", "Queued", "", 0),
		job("a", "unnamed", "volcano", "", "Starting", "", 0),
	}
	const want = `volcano Queue /default parent= state=Closed
  runs a/unnamed
  GPUs: 4 run, 0 wait
volcano Queue /research parent=root state=Open
  cpu limit=- unlimited=true guaranteed=- deserved=- used=3 borrowed=- free=-
  nvidia.com/gpu limit=16 unlimited=false guaranteed=2 deserved=8 used=12 borrowed=- free=4
  runs a/runs
  waits a/older QuotaExceeded
  waits b/younger QuotaExceeded
  waits a/usual QuotaExceeded
  waits a/low QuotaExceeded
  waits a/nowhere QuotaExceeded
  GPUs: 4 run, 20 wait`
	if diff := cmp.Diff(want, text(Of(objects, jobs))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestKueue(t *testing.T) {
	quota := func(name, nominal string, borrowing *resource.Quantity) kueuev1beta2.FlavorQuotas {
		return kueuev1beta2.FlavorQuotas{
			Name: kueuev1beta2.ResourceFlavorReference(name),
			Resources: []kueuev1beta2.ResourceQuota{{
				Name: gpu, NominalQuota: resource.MustParse(nominal), BorrowingLimit: borrowing,
			}},
		}
	}
	usage := []kueuev1beta2.FlavorUsage{{Name: "h100", Resources: []kueuev1beta2.ResourceUsage{{
		Name: gpu, Total: resource.MustParse("10"), Borrowed: resource.MustParse("2"),
	}}}}
	hold := kueuev1beta2.Hold
	objects := Objects{
		ClusterQueues: []kueuev1beta2.ClusterQueue{
			{
				ObjectMeta: named("", "gpus"),
				Spec: kueuev1beta2.ClusterQueueSpec{CohortName: "all", ResourceGroups: []kueuev1beta2.ResourceGroup{{
					Flavors: []kueuev1beta2.FlavorQuotas{
						quota("h100", "8", new(resource.MustParse("4"))), quota("a100", "4", nil),
					},
				}}},
				Status: kueuev1beta2.ClusterQueueStatus{
					FlavorsReservation: usage,
					Conditions:         []metav1.Condition{{Type: kueuev1beta2.ClusterQueueActive, Status: "True"}},
				},
			},
			{ObjectMeta: named("", "stopped"), Spec: kueuev1beta2.ClusterQueueSpec{StopPolicy: &hold}},
		},
		LocalQueues: []kueuev1beta2.LocalQueue{
			{ObjectMeta: named("a", "lq"), Spec: kueuev1beta2.LocalQueueSpec{ClusterQueue: "gpus"}},
		},
		WorkloadPriorityClasses: []kueuev1beta2.WorkloadPriorityClass{{ObjectMeta: named("", "first"), Value: 7}},
	}
	labelled := job("a", "labelled", "kueue", "lq", "Queued", "", 5)
	labelled.Labels = map[string]string{v1alpha1.LabelKueuePriority: "first"}
	jobs := []v1alpha1.TrainingJob{
		job("a", "plain", "kueue", "lq", "Queued", "", 1), labelled,
		job("b", "other", "kueue", "lq", "Queued", "", 1),
	}
	const want = `kueue ClusterQueue /gpus parent=all state=Active
  h100nvidia.com/gpu limit=12 unlimited=false guaranteed=8 deserved=- used=10 borrowed=2 free=2
  a100nvidia.com/gpu limit=- unlimited=true guaranteed=4 deserved=- used=- borrowed=- free=-
  waits a/labelled QuotaExceeded
  waits a/plain QuotaExceeded
  GPUs: 0 run, 8 wait
kueue ClusterQueue /stopped parent= state=Hold
  GPUs: 0 run, 0 wait
kueue LocalQueue a/lq parent=gpus state=
  waits a/labelled QuotaExceeded
  waits a/plain QuotaExceeded
  GPUs: 0 run, 8 wait`
	if diff := cmp.Diff(want, text(Of(objects, jobs))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestQuotasOfNamespaces(t *testing.T) {
	objects := Objects{
		ElasticQuotas: []pluginsv1alpha1.ElasticQuota{{
			ObjectMeta: named("a", "eq"),
			Spec:       pluginsv1alpha1.ElasticQuotaSpec{Min: list(gpu, "4"), Max: list(gpu, "8")},
			Status:     pluginsv1alpha1.ElasticQuotaStatus{Used: list(gpu, "9")},
		}},
		ResourceQuotas: []corev1.ResourceQuota{
			{
				ObjectMeta: named("a", "gpus"),
				Spec: corev1.ResourceQuotaSpec{
					Hard: list("requests."+gpu, "8", "pods", "9", "requests.storage", "1Gi"),
				},
			},
			{ObjectMeta: named("a", "counts"), Spec: corev1.ResourceQuotaSpec{Hard: list("pods", "9")}},
		},
	}
	suspended := job("a", "suspended", "native", "", "Pending", "", 0)
	suspended.Spec.RunPolicy.Suspend = new(true)
	kept := job("a", "kept", "native", "", "Restarting", "", 0)
	kept.Status.Scheduling.KeepsPlace = true
	deleted := job("a", "deleted", "native", "", "Running", "", 0)
	deleted.DeletionTimestamp = &deleted.CreationTimestamp
	jobs := []v1alpha1.TrainingJob{
		suspended, kept, deleted, job("a", "native", "native", "", "Queued", "", 0),
		job("a", "plugins", "coscheduling", "", "Running", "", 0),
		job("b", "other", "native", "", "Running", "", 0),
	}
	const want = ` ResourceQuota a/gpus parent= state=
  nvidia.com/gpu limit=8 unlimited=false guaranteed=- deserved=- used=- borrowed=- free=-
  runs a/kept
  runs a/plugins
  waits a/native QuotaExceeded
  GPUs: 8 run, 4 wait
coscheduling ElasticQuota a/eq parent= state=
  nvidia.com/gpu limit=8 unlimited=false guaranteed=4 deserved=- used=9 borrowed=- free=0
  runs a/plugins
  GPUs: 4 run, 0 wait`
	if diff := cmp.Diff(want, text(Of(objects, jobs))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLists: Add accepts each of the Lists.
func TestLists(t *testing.T) {
	var o Objects
	for _, l := range Lists() {
		switch l := l.(type) {
		case *volcanov1beta1.QueueList:
			l.Items = make([]volcanov1beta1.Queue, 1)
		case *kueuev1beta2.ClusterQueueList:
			l.Items = make([]kueuev1beta2.ClusterQueue, 1)
		case *kueuev1beta2.LocalQueueList:
			l.Items = make([]kueuev1beta2.LocalQueue, 1)
		case *pluginsv1alpha1.ElasticQuotaList:
			l.Items = make([]pluginsv1alpha1.ElasticQuota, 1)
		case *corev1.ResourceQuotaList:
			l.Items = make([]corev1.ResourceQuota, 1)
		case *schedulingv1.PriorityClassList:
			l.Items = make([]schedulingv1.PriorityClass, 1)
		case *kueuev1beta2.WorkloadPriorityClassList:
			l.Items = make([]kueuev1beta2.WorkloadPriorityClass, 1)
		}
		o.Add(l)
	}
	got := []int{
		len(o.VolcanoQueues), len(o.ClusterQueues), len(o.LocalQueues), len(o.ElasticQuotas), len(o.ResourceQuotas),
		len(o.PriorityClasses), len(o.WorkloadPriorityClasses),
	}
	if diff := cmp.Diff([]int{1, 1, 1, 1, 1, 1, 1}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestStartOfAWaitingJob: its interval, by the last forecast. Jobs that run have none.
func TestStartOfAWaitingJob(t *testing.T) {
	at := func(hour int) metav1.Time { return metav1.NewTime(time.Date(2026, 11, 25, hour, 0, 0, 0, time.UTC)) }
	waits := job("team", "waits", v1alpha1.SchedulerVolcano, "a", v1alpha1.PhaseQueued, "", 0)
	waits.Status.Scheduling.EstimatedStart = &v1alpha1.EstimatedStart{
		Time: new(at(14)), Earliest: new(at(13)), Latest: new(at(16)),
	}
	unknown := job("team", "unknown", v1alpha1.SchedulerVolcano, "a", v1alpha1.PhaseQueued, "", 1)
	unknown.Status.Scheduling.EstimatedStart = &v1alpha1.EstimatedStart{
		Earliest: new(at(13)), Unknown: v1alpha1.StartNotCalibrated,
	}
	queues := Of(Objects{VolcanoQueues: []volcanov1beta1.Queue{{ObjectMeta: named("", "a")}}},
		[]v1alpha1.TrainingJob{waits, unknown})
	got := queues[0].Waiting
	if j := got[0]; !j.Start.Equal(at(14).Time) || !j.StartEarliest.Equal(at(13).Time) ||
		!j.StartLatest.Equal(at(16).Time) {
		t.Errorf("it starts %v, from %v to %v", j.Start, j.StartEarliest, j.StartLatest)
	}
	if j := got[1]; j.Start != nil || j.StartEarliest != nil || j.StartLatest != nil ||
		j.StartUnknown != v1alpha1.StartNotCalibrated {
		t.Errorf("an unknown start is %v, from %v to %v", j.Start, j.StartEarliest, j.StartLatest)
	}
}
