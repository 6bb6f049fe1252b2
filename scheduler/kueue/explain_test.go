package kueue_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
)

const gpu corev1.ResourceName = "nvidia.com/gpu"

func localQueue(namespace, name, cluster string, policy kueuev1beta2.StopPolicy) client.Object {
	return &kueuev1beta2.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: kueuev1beta2.LocalQueueSpec{
			ClusterQueue: kueuev1beta2.ClusterQueueReference(cluster), StopPolicy: &policy,
		},
	}
}

func clusterQueue(name string, change ...func(*kueuev1beta2.ClusterQueue)) client.Object {
	q := &kueuev1beta2.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, c := range change {
		c(q)
	}
	return q
}

// has gives the queue GPUs of a flavor, some of them reserved.
func has(
	flavor kueuev1beta2.ResourceFlavorReference, nominal, reserved string,
) func(*kueuev1beta2.ClusterQueue) {
	return func(q *kueuev1beta2.ClusterQueue) {
		q.Spec.ResourceGroups = append(q.Spec.ResourceGroups, kueuev1beta2.ResourceGroup{})
		q.Spec.ResourceGroups[len(q.Spec.ResourceGroups)-1].Flavors = []kueuev1beta2.FlavorQuotas{{
			Name:      flavor,
			Resources: []kueuev1beta2.ResourceQuota{{Name: gpu, NominalQuota: resource.MustParse(nominal)}},
		}}
		q.Status.FlavorsReservation = append(q.Status.FlavorsReservation, kueuev1beta2.FlavorUsage{
			Name:      flavor,
			Resources: []kueuev1beta2.ResourceUsage{{Name: gpu, Total: resource.MustParse(reserved)}},
		})
	}
}

func strict(pending int32) func(*kueuev1beta2.ClusterQueue) {
	return func(q *kueuev1beta2.ClusterQueue) {
		q.Spec.QueueingStrategy, q.Status.PendingWorkloads = kueuev1beta2.StrictFIFO, pending
	}
}

func pending(n int32) func(*kueuev1beta2.ClusterQueue) {
	return func(q *kueuev1beta2.ClusterQueue) { q.Status.PendingWorkloads = n }
}

func inCohort(name string) func(*kueuev1beta2.ClusterQueue) {
	return func(q *kueuev1beta2.ClusterQueue) { q.Spec.CohortName = kueuev1beta2.CohortReference(name) }
}

func holds(q *kueuev1beta2.ClusterQueue) {
	policy := kueuev1beta2.Hold
	q.Spec.StopPolicy = &policy
}

func notActive(q *kueuev1beta2.ClusterQueue) {
	q.Status.Conditions = []metav1.Condition{{
		Type: kueuev1beta2.ClusterQueueActive, Status: metav1.ConditionFalse,
		Message: "Can't admit new workloads: references missing ResourceFlavor(s): h100.",
	}}
}

func TestExplain(t *testing.T) {
	const none = kueuev1beta2.None
	own := gang().Namespace
	open := localQueue(own, "research", "gpus", none)
	tooLarge := cond(kueuev1beta2.WorkloadQuotaReserved, metav1.ConditionFalse, "Pending",
		"insufficient quota for nvidia.com/gpu in flavor h100, request > maximum capacity (4)")
	const notJudged = `NotJudged  Kueue has not judged the Workload; it names LocalQueue "research"`
	cases := map[string]struct {
		why     string
		objects []client.Object
		written []func(*kueuev1beta2.Workload, int)
		want    string // reason, object and message; "" for no explanation
	}{
		"another namespace's": {
			why:     "a LocalQueue serves its own namespace",
			objects: []client.Object{localQueue("elsewhere", "research", "gpus", none), clusterQueue("gpus")},
			want: "QueueNotFound localqueues.kueue.x-k8s.io/research namespace " + own +
				" has no LocalQueue research; those of other namespaces do not serve it",
		},
		"stopped": {
			why: "nothing starts",
			objects: []client.Object{
				localQueue(own, "research", "gpus", kueuev1beta2.HoldAndDrain), clusterQueue("gpus"),
			},
			want: "QueueClosed localqueues.kueue.x-k8s.io/research LocalQueue research is stopped " +
				"(HoldAndDrain): it starts no jobs",
		},
		"no ClusterQueue": {
			why: "its ClusterQueue does not exist", objects: []client.Object{open, clusterQueue("others")},
			want: "QueueNotFound clusterqueues.kueue.x-k8s.io/gpus LocalQueue research leads to " +
				"ClusterQueue gpus, which does not exist",
		},
		"ClusterQueue stopped": {
			why: "for all its namespaces", objects: []client.Object{open, clusterQueue("gpus", holds)},
			want: "QueueClosed clusterqueues.kueue.x-k8s.io/gpus ClusterQueue gpus is stopped (Hold): " +
				"it starts no jobs",
		},
		"ClusterQueue not active": {
			why: "in Kueue's words", objects: []client.Object{open, clusterQueue("gpus", notActive)},
			want: "QueueClosed clusterqueues.kueue.x-k8s.io/gpus ClusterQueue gpus is not active: Can't " +
				"admit new workloads: references missing ResourceFlavor(s): h100.",
		},
		"not judged": {
			why:     "it will be in a moment; nodes do not matter before",
			objects: []client.Object{open, clusterQueue("gpus")}, want: notJudged,
		},
		"not first": {
			why:     "it is not judged until it is",
			objects: []client.Object{open, clusterQueue("gpus", strict(3))},
			want: "WaitingBehind clusterqueues.kueue.x-k8s.io/gpus ClusterQueue gpus serves strictly " +
				"in order (StrictFIFO), and it is not first: 2 others wait in it",
		},
		"one like another that waits": {
			why:     "Kueue tries none of them",
			objects: []client.Object{open, clusterQueue("gpus", pending(2), has("h100", "16", "12"))},
			want: "QuotaExceeded clusterqueues.kueue.x-k8s.io/gpus it needs 8 nvidia.com/gpu; " +
				"ClusterQueue gpus has of its own free 4 of 16 in h100; held by " + own + "/bert (4); " +
				"1 other waits in ClusterQueue gpus, and while one of the same shape and priority does " +
				"not fit Kueue tries no other",
		},
		"one like another that waits, in a cohort": {
			why: "it might borrow",
			objects: []client.Object{
				open, clusterQueue("gpus", pending(3), inCohort("ml"), has("h100", "16", "12")),
			},
			want: "WaitingBehind clusterqueues.kueue.x-k8s.io/gpus 2 others wait in ClusterQueue gpus, " +
				"and while one of the same shape and priority does not fit Kueue tries no other",
		},
		"not tried although it fits": {
			why:     "the others are before it",
			objects: []client.Object{open, clusterQueue("gpus", pending(2), has("h100", "16", "2"))},
			want: "WaitingBehind clusterqueues.kueue.x-k8s.io/gpus 1 other waits in ClusterQueue " +
				"gpus, and while one of the same shape and priority does not fit Kueue tries no other",
		},
		"alone in a strict queue": {
			why: "no other Workload is before it", objects: []client.Object{open, clusterQueue("gpus", strict(1))},
			want: notJudged,
		},
		"over quota": {
			why: "with who holds it, in the cohort too", written: written(noQuota),
			objects: []client.Object{
				open, localQueue("team-b", "product", "lenders", none),
				localQueue("team-c", "apart", "others", none),
				clusterQueue("gpus", inCohort("ml"), has("h100", "16", "12"), has("a100", "8", "12")),
				clusterQueue("lenders", inCohort("ml")), clusterQueue("others"),
			},
			want: "QuotaExceeded clusterqueues.kueue.x-k8s.io/gpus it needs 8 nvidia.com/gpu; " +
				"ClusterQueue gpus has of its own free 4 of 16 in h100, 0 of 8 in a100; " +
				"held by team-b/llama (8), " + own + "/bert (4) (Kueue: couldn't assign flavors to pod " +
				"set worker: insufficient unused quota for nvidia.com/gpu in flavor h100, 4 more needed)",
		},
		"never": {
			why: "whichever jobs end", written: written(tooLarge),
			objects: []client.Object{open, clusterQueue("gpus", has("h100", "4", "0"))},
			want: "ExceedsQuota clusterqueues.kueue.x-k8s.io/gpus it can never start: it needs 8 " +
				"nvidia.com/gpu; ClusterQueue gpus has of its own free 4 of 4 in h100; " +
				"held by " + own + "/bert (4) (Kueue: insufficient quota for nvidia.com/gpu in flavor " +
				"h100, request > maximum capacity (4))",
		},
		"admitted": {
			why: "a stopped queue does not affect it", written: written(reserved, admitted, admission("h100", 0)),
			objects: []client.Object{
				localQueue(own, "research", "gpus", kueuev1beta2.Hold), clusterQueue("gpus"),
			},
		},
	}
	b := kueue.New(kueue.Options{})
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gang()
			objs, err := b.Objects(g)
			if err != nil {
				t.Fatal(err)
			}
			for _, write := range tc.written {
				write(objs[0].(*kueuev1beta2.Workload), 1)
			}
			f := scheduler.ClusterState{Objects: map[schema.GroupVersionKind][]client.Object{}}
			if _, ok := b.Explain(g, objs, f); ok {
				t.Error("got a reason before the watches have delivered anything")
			}
			for i, kind := range b.StateKinds() {
				f.Objects[kind] = nil
				for _, o := range tc.objects {
					if _, isLocal := o.(*kueuev1beta2.LocalQueue); isLocal == (i == 0) {
						f.Objects[kind] = append(f.Objects[kind], o)
					}
				}
			}
			f.Holders = []scheduler.Holder{
				{Namespace: own, Name: "bert", Queue: "research", Held: scheduler.Amounts{gpu: 4}},
				{Namespace: "team-b", Name: "llama", Queue: "product", Held: scheduler.Amounts{gpu: 8}},
				{Namespace: "team-c", Name: "other", Queue: "apart", Held: scheduler.Amounts{gpu: 8}},
				{Namespace: "team-c", Name: "none", Held: scheduler.Amounts{gpu: 8}},
			}
			e, ok := b.Explain(g, objs, f)
			if got := strings.TrimSpace(e.Reason + " " + e.Object + " " + e.Message); got != tc.want {
				t.Errorf("%s:\n got %q\nwant %q", tc.why, got, tc.want)
			}
			if ok != (tc.want != "") || ok && e.NextStep == "" {
				t.Errorf("explained %t, next step %q", ok, e.NextStep)
			}
		})
	}
}

// TestMatters: counters in a queue's status must not reconcile every waiting job.
func TestMatters(t *testing.T) {
	b := kueue.New(kueue.Options{})
	counted := clusterQueue("gpus", has("h100", "16", "0"))
	for name, tc := range map[string]struct {
		before, after client.Object
		want          bool
	}{
		"new":           {nil, clusterQueue("gpus"), true},
		"gone":          {clusterQueue("gpus"), nil, true},
		"counted again": {counted, clusterQueue("gpus", has("h100", "16", "8")), false},
		"another quota": {counted, clusterQueue("gpus", has("h100", "32", "0")), true},
		"not active":    {clusterQueue("gpus"), clusterQueue("gpus", notActive), true},
		"queue stopped": {
			localQueue("a", "b", "gpus", kueuev1beta2.None), localQueue("a", "b", "gpus", kueuev1beta2.Hold),
			true,
		},
		"queue as it is": {
			localQueue("a", "b", "gpus", kueuev1beta2.None), localQueue("a", "b", "gpus", kueuev1beta2.None),
			false,
		},
	} {
		if got := b.Matters(tc.before, tc.after); got != tc.want {
			t.Errorf("%s: matters %t, want %t", name, got, tc.want)
		}
	}
}
