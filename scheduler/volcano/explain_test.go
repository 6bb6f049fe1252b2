package volcano_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
)

const gpu corev1.ResourceName = "nvidia.com/gpu"

func queue(
	name, parent string, state schedulingv1beta1.QueueState, capability, allocated string,
) *schedulingv1beta1.Queue {
	q := &schedulingv1beta1.Queue{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       schedulingv1beta1.QueueSpec{Parent: parent},
		Status:     schedulingv1beta1.QueueStatus{State: state},
	}
	if capability != "" {
		q.Spec.Capability = corev1.ResourceList{gpu: resource.MustParse(capability)}
		q.Status.Allocated = corev1.ResourceList{gpu: resource.MustParse(allocated)}
	}
	return q
}

func guaranteed(q *schedulingv1beta1.Queue, gpus string) *schedulingv1beta1.Queue {
	q.Spec.Guarantee.Resource = corev1.ResourceList{gpu: resource.MustParse(gpus)}
	return q
}

// root is the queue above all others, with a capability of GPUs if there is one.
func root(capability, allocated string) *schedulingv1beta1.Queue {
	return queue("root", "", schedulingv1beta1.QueueStateOpen, capability, allocated)
}

// written14 is the queue root as Volcano 1.14 leaves it: that scheduler writes what all queues deserve.
func written14(root *schedulingv1beta1.Queue) *schedulingv1beta1.Queue {
	root.Spec.Deserved = corev1.ResourceList{gpu: resource.MustParse("12")}
	return root
}

func TestExplain(t *testing.T) {
	const open = schedulingv1beta1.QueueStateOpen
	holder := func(name, queue string) scheduler.Holder {
		return scheduler.Holder{
			Namespace: "team-b", Name: name, Queue: queue, Held: scheduler.Amounts{gpu: 4},
		}
	}
	cases := map[string]struct {
		why    string
		queue  string
		queues []client.Object
		known  bool
		want   scheduler.Explanation
	}{
		"queues not known": {why: "the watch has delivered nothing yet", queue: "research"},
		"open": {
			why: "no reason of its own", queue: "research", known: true,
			queues: []client.Object{queue("research", "", open, "", "")},
		},
		"missing": {
			why: "Volcano reports nothing about it", queue: "research", known: true,
			queues: []client.Object{queue("default", "", open, "", "")},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonQueueNotFound, Object: "queues.scheduling.volcano.sh/research",
				Message: "Volcano has no queue research",
			},
		},
		"no queue named": {
			why: "Volcano takes default", known: true,
			queues: []client.Object{queue("default", "", schedulingv1beta1.QueueStateClosed, "", "")},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonQueueClosed, Object: "queues.scheduling.volcano.sh/default",
				Message: "queue default is Closed: it starts no jobs",
			},
		},
		"closing": {
			why: "it starts nothing either", queue: "research", known: true,
			queues: []client.Object{queue("research", "", schedulingv1beta1.QueueStateClosing, "", "")},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonQueueClosed, Object: "queues.scheduling.volcano.sh/research",
				Message: "queue research is Closing: it starts no jobs",
			},
		},
		"without a state": {
			why: "its controller manager does not run", queue: "research", known: true,
			queues: []client.Object{queue("research", "", "", "", "")},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonQueueClosed, Object: "queues.scheduling.volcano.sh/research",
				Message: "queue research is not open yet",
			},
		},
		"used up": {
			why: "with the holders", queue: "research", known: true,
			queues: []client.Object{queue("research", "", open, "10", "8")},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonQuotaExceeded, Object: "queues.scheduling.volcano.sh/research",
				Message: "it needs 8 nvidia.com/gpu; queue research has 2 nvidia.com/gpu free of 10; " +
					"held by team-b/a (4), team-b/b (4)",
			},
		},
		"never": {
			why: "more than the whole", queue: "research", known: true,
			queues: []client.Object{queue("research", "", open, "4", "0")},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonExceedsQuota, Object: "queues.scheduling.volcano.sh/research",
				Message: "it can never start: it needs 8 nvidia.com/gpu and the limit of queue research " +
					"is 4 nvidia.com/gpu",
			},
		},
		"the parent is used up": {
			why: "its children share it", queue: "research", known: true,
			queues: []client.Object{
				queue("research", "org", open, "16", "0"), queue("org", "root", open, "20", "16"),
				queue("other", "org", open, "20", "16"),
			},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonQuotaExceeded, Object: "queues.scheduling.volcano.sh/org",
				Message: "it needs 8 nvidia.com/gpu; queue org has 4 nvidia.com/gpu free of 20; held by " +
					"team-b/a (4), team-b/b (4), team-b/c (4)",
			},
		},
		"a circle of parents": {
			why: "must not hang", queue: "research", known: true,
			queues: []client.Object{
				queue("research", "org", open, "", ""), queue("org", "top", open, "", ""),
				queue("top", "org", open, "", ""),
			},
		},
		"not a leaf": {
			why: "no job starts from it", queue: "research", known: true,
			queues: []client.Object{
				queue("research", "", open, "16", "0"), queue("nlp", "research", open, "", ""),
				queue("audio", "research", open, "", ""),
			},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonQueueClosed, Object: "queues.scheduling.volcano.sh/research",
				Message: "queue research has queues below it (audio, nlp) and takes no jobs itself; " +
					"with a gang in such a queue Volcano may start no gang at all",
			},
		},
		"guaranteed to others, the root without a capability": {
			why: "the root is infinite since Volcano 1.15, so guarantees limit nothing", queue: "research",
			queues: []client.Object{
				queue("research", "", open, "", ""), guaranteed(queue("product", "root", open, "", ""), "6"),
				root("", ""),
			},
			known: true,
		},
		"guaranteed to others, the root with a capability": {
			why: "it is what all queues share since Volcano 1.15", queue: "research", known: true,
			queues: []client.Object{
				queue("research", "", open, "", ""), guaranteed(queue("product", "root", open, "", ""), "6"),
				root("13", "0"),
			},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonExceedsQuota, Object: "queues.scheduling.volcano.sh/research",
				Message: "it can never start: it needs 8 nvidia.com/gpu and the limit of queue research " +
					"without what is guaranteed to product is 7 nvidia.com/gpu",
			},
		},
		"the root is used up": {
			why: "it limits all queues together since Volcano 1.15", queue: "research", known: true,
			queues: []client.Object{queue("research", "", open, "10", "2"), root("10", "8")},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonQuotaExceeded, Object: "queues.scheduling.volcano.sh/root",
				Message: "it needs 8 nvidia.com/gpu; queue root has 2 nvidia.com/gpu free of 10; " +
					"held by team-b/a (4), team-b/b (4)",
			},
		},
		"the root is used up, and so are the nodes": {
			why:   "without more nodes a larger capability would not help, and the nodes say more",
			queue: "research", known: true,
			queues: []client.Object{queue("research", "", open, "", ""), root("12", "8")},
		},
		"larger than the root": {
			why: "no node helps", queue: "research", known: true,
			queues: []client.Object{queue("research", "", open, "", ""), root("6", "0")},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonExceedsQuota, Object: "queues.scheduling.volcano.sh/root",
				Message: "it can never start: it needs 8 nvidia.com/gpu and the limit of queue root " +
					"is 6 nvidia.com/gpu",
			},
		},
		"larger than the root of Volcano 1.14": {
			why: "that limits single queues alone", queue: "research", known: true,
			queues: []client.Object{queue("research", "", open, "", ""), written14(root("6", "6"))},
		},
		"guaranteed to others in Volcano 1.14": {
			why: "it may not use the whole cluster", queue: "research", known: true,
			queues: []client.Object{
				written14(root("", "")), queue("research", "", open, "", ""),
				guaranteed(queue("product", "root", open, "", ""), "6"),
				guaranteed(queue("far", "product", open, "", ""), "6"),
			},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonExceedsQuota, Object: "queues.scheduling.volcano.sh/research",
				Message: "it can never start: it needs 8 nvidia.com/gpu and the limit of queue research " +
					"without what is guaranteed to product is 6 nvidia.com/gpu",
			},
		},
		"guaranteed to others below the same parent": {
			why: "of what the parent has", queue: "research", known: true,
			queues: []client.Object{
				queue("org", "", open, "11", "0"), queue("research", "org", open, "", ""),
				guaranteed(queue("product", "org", open, "", ""), "4"),
			},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonExceedsQuota, Object: "queues.scheduling.volcano.sh/research",
				Message: "it can never start: it needs 8 nvidia.com/gpu and the limit of queue research " +
					"without what is guaranteed to product is 7 nvidia.com/gpu",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gangOf8()
			g.Queue = tc.queue
			node := scheduler.Node{Node: &corev1.Node{}, Allocatable: scheduler.Amounts{gpu: 12}}
			f := scheduler.ClusterState{Complete: true, Nodes: []scheduler.Node{node}, Holders: []scheduler.Holder{
				holder("b", "research"), holder("a", "research"), holder("c", "other"),
				holder("d", "somewhere"),
			}}
			if tc.known {
				f.Objects = map[schema.GroupVersionKind][]client.Object{
					volcano.New(volcano.Options{}).StateKinds()[0]: tc.queues,
				}
			}
			got, ok := volcano.New(volcano.Options{}).Explain(g, nil, f)
			if ok != (tc.want.Reason != "") {
				t.Errorf("%s: explained: %t", tc.why, ok)
			}
			words := cmpopts.IgnoreFields(scheduler.Explanation{}, "NextStep", "Need", "Free")
			if diff := cmp.Diff(tc.want, got, words); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.why, diff)
			}
			if ok && got.NextStep == "" {
				t.Error("there is no next step")
			}
		})
	}
}

// TestRootMustListResources: with a capability of the queue root, Volcano 1.15 takes each resource that it
// does not list as 0 (plugins/capacity, checkQueueAllocatableHierarchically). Then no rank with a CPU starts.
func TestRootMustListResources(t *testing.T) {
	empty := root("0", "0")
	listed := root("12", "0")
	listed.Spec.Capability[corev1.ResourceCPU] = resource.MustParse("1M")
	for name, tc := range map[string]struct {
		root  *schedulingv1beta1.Queue
		never bool
	}{
		"no capability": {root: root("", "")},
		"an empty one":  {root: empty},
		"GPUs alone":    {root: root("12", "0"), never: true},
		"Volcano 1.14":  {root: written14(root("12", "0"))},
		"CPUs too":      {root: listed},
	} {
		t.Run(name, func(t *testing.T) {
			g := gangOf8()
			g.Queue, g.MinResources[corev1.ResourceCPU] = "research", resource.MustParse("4")
			b := volcano.New(volcano.Options{})
			e, never := scheduler.NotAdmissible(b, g, nil, map[schema.GroupVersionKind][]client.Object{
				b.StateKinds()[0]: {tc.root, queue("research", "root", schedulingv1beta1.QueueStateOpen, "", "")},
			})
			want := scheduler.Explanation{}
			if tc.never {
				want = scheduler.Explanation{
					Reason: scheduler.ReasonExceedsQuota, Object: "queues.scheduling.volcano.sh/root",
					Message: "it can never start: it requests cpu, and the capability of queue root does not " +
						"list cpu",
					NextStep: "ask the admin to add cpu to the capability of queue root",
				}
			}
			if diff := cmp.Diff(want, e); diff != "" || never != tc.never {
				t.Errorf("never: %t (-want +got):\n%s", never, diff)
			}
		})
	}
}

func gangOf8() scheduler.Gang {
	return scheduler.Gang{
		Name: "bert", Namespace: "team-a", MinAvailable: 4,
		MinResources: corev1.ResourceList{gpu: resource.MustParse("8")},
	}
}

func TestMatters(t *testing.T) {
	b := volcano.New(volcano.Options{})
	q := queue("research", "", schedulingv1beta1.QueueStateOpen, "10", "8")
	busier, closed, larger := q.DeepCopy(), q.DeepCopy(), q.DeepCopy()
	busier.Status.Allocated[gpu], busier.Status.Running = resource.MustParse("9"), 3
	closed.Status.State = schedulingv1beta1.QueueStateClosed
	larger.Spec.Capability[gpu] = resource.MustParse("20")
	cases := map[string]struct {
		before, after client.Object
		want          bool
	}{
		"new": {nil, q, true}, "gone": {q, nil, true}, "counts": {q, busier, false},
		"state": {q, closed, true}, "capability": {q, larger, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := b.Matters(tc.before, tc.after); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
