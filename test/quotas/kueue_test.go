//go:build cluster

package quotas

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

const onKueue = v1alpha1.SchedulerKueue

// kindOfGPU is the label by which the flavors in the files select nodes.
const kindOfGPU = "example.com/gpu"

func labelled(key, value string) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) { metav1.SetMetaDataLabel(&j.ObjectMeta, key, value) }
}

func queued(name string) func(*v1alpha1.TrainingJob) { return labelled(kueue.QueueLabel, name) }
func ofClass(name string) func(*v1alpha1.TrainingJob) {
	return labelled(kueue.PriorityClassLabel, name)
}
func selects(kind string) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) { j.Spec.NodeSelector = map[string]string{kindOfGPU: kind} }
}

// Teams share a cohort of h100 and a100; the other cases have nodes and queues of their own and run in
// parallel.
func TestKueue(t *testing.T) {
	t.Parallel()
	w := get(t, startKueueCluster)
	a, b := newTeam(t, w, onKueue, "team-a"), newTeam(t, w, onKueue, "team-b")
	for kind, nodes := range map[string]int{"h100": 4, "a100": 4, "v100": 2} {
		for i := range nodes {
			a.AddNode(fmt.Sprintf("%s-%d", kind, i), map[string]string{kindOfGPU: kind},
				corev1.Taint{Key: string(harness.GPU), Value: "present", Effect: corev1.TaintEffectNoSchedule})
		}
	}
	apply(t, w, "kueue/flavors.yaml", "kueue/clusterqueues.yaml", "kueue/localqueues.yaml",
		"kueue/priorities.yaml", "kueue/fifo.yaml")
	for _, name := range []string{"research", "product", "long-runs"} {
		a.active(name)
	}
	// Run returns when all its subtests have ended.
	t.Run("cases", func(t *testing.T) {
		t.Run("cohort and flavours", func(t *testing.T) { t.Parallel(); cohort(a.in(t), b.in(t)) })
		t.Run("strict order", func(t *testing.T) { t.Parallel(); strictOrder(b.in(t)) })
		t.Run("workload priorities", func(t *testing.T) { t.Parallel(); workloadPriorities(newCase(t, w, 1)) })
		t.Run("admission check", func(t *testing.T) { t.Parallel(); admissionCheck(newCase(t, w, 1)) })
		t.Run("check that contradicts", func(t *testing.T) { t.Parallel(); contradiction(newCase(t, w, 1)) })
		t.Run("flavour that is gone", func(t *testing.T) { t.Parallel(); flavorGone(t, w) })
		t.Run("Workload finished by hand", func(t *testing.T) { t.Parallel(); finishedByHand(newCase(t, w, 1)) })
		t.Run("Workload taken away", func(t *testing.T) { t.Parallel(); workloadGone(newCase(t, w, 1)) })
		t.Run("queue of another namespace", func(t *testing.T) { t.Parallel(); foreignQueue(newCase(t, w, 1)) })
		t.Run("stopped queues", func(t *testing.T) { t.Parallel(); stoppedQueues(newCase(t, w, 2)) })
		t.Run("a name that is taken", func(t *testing.T) { t.Parallel(); foreignWorkload(newCase(t, w, 1)) })
		t.Run("edits while it waits", func(t *testing.T) { t.Parallel(); editsWhileWaiting(newCase(t, w, 1)) })
		t.Run("edits while it runs", func(t *testing.T) { t.Parallel(); editsWhileRunning(newCase(t, w, 1)) })
		t.Run("restart after a failure", func(t *testing.T) { t.Parallel(); restart(newCase(t, w, 1)) })
		t.Run("topology", func(t *testing.T) { t.Parallel(); topology(t, w) })
		t.Run("writes", func(t *testing.T) { t.Parallel(); writes(newCase(t, w, 1)) })
	})
}

// active waits until Kueue admits from the ClusterQueue.
func (p team) active(name string) {
	p.T.Helper()
	p.Until("ClusterQueue "+name+" is active", func(ctx context.Context) (string, error) {
		q := &kueuev1beta2.ClusterQueue{}
		q.Name = name
		if err := p.Client.Get(ctx, keyOf(q), q); err != nil {
			return "", err
		}
		if !meta.IsStatusConditionTrue(q.Status.Conditions, kueuev1beta2.ClusterQueueActive) {
			return fmt.Sprintf("%+v", q.Status.Conditions), nil
		}
		return "", nil
	})
}

// on checks that all ranks are bound to nodes of a kind, with the flavor's node selector.
func (p team) on(name, kind string) {
	p.T.Helper()
	pods := p.pods(name)
	if len(pods) == 0 {
		p.T.Errorf("%s has no pods", name)
	}
	for _, pod := range pods {
		if !strings.HasPrefix(pod.Spec.NodeName, kind) || pod.Spec.NodeSelector[kindOfGPU] != kind {
			p.T.Errorf("%s is on node %s with node selector %v, want %s", pod.Name, pod.Spec.NodeName,
				pod.Spec.NodeSelector, kind)
		}
	}
}

// cohort uses ranks of 2 GPUs, because kube-scheduler spreads them over the nodes and leaves no node empty.
func cohort(a, b team) {
	t := a.T
	apply(t, a.Cluster, "kueue/job.yaml")
	a.runs("bert", 1) // 8 of research's 16 h100
	a.on("bert", "h100")

	// 24 h100 at most, 8 of them borrowed, and 32 a100.
	a.submit("beyond-quota", 20, "2", queued("research"))
	a.needs("beyond-quota", v1alpha1.ReasonExceedsQuota, "40", "32")
	a.submit("beyond-node", 1, "16", queued("research"), selects("a100"))
	a.waits("beyond-node", v1alpha1.ReasonNoNodeLargeEnough)
	a.remove("beyond-quota", "beyond-node")

	// The rest of its own, and the 8 that it may borrow from product.
	a.submit("borrower", 8, "2", queued("research"), ofClass("experiment"), selects("h100"))
	a.runs("borrower", 1)
	a.on("borrower", "h100")
	a.submit("h100-more", 4, "2", queued("research"), selects("h100"))
	blocked := a.waits("h100-more", v1alpha1.ReasonQuotaExceeded)
	if !strings.Contains(blocked.Message, "team-a/borrower (16)") || !strings.Contains(blocked.Message, "h100") {
		t.Errorf("it does not say who holds what: %s", blocked.Message)
	}
	a.remove("h100-more")
	// A job that accepts any kind gets the second one, because the first is used up.
	a.submit("spilled", 4, "2", queued("research"))
	a.runs("spilled", 1)
	a.on("spilled", "a100")

	// Borrowed GPUs are reclaimed, and the borrower is evicted whole.
	b.submit("owner", 8, "2", queued("product"), selects("h100"))
	b.runs("owner", 1)
	b.on("owner", "h100")
	a.sentBack("borrower")
	a.waits("borrower", v1alpha1.ReasonQuotaExceeded)
	a.undisturbed("bert", "spilled")
	// lendingLimit: product keeps 8 even while it uses none.
	b.complete("owner")
	a.runs("borrower", 2)
	a.on("borrower", "h100")

	// A higher class preempts a lower one within the team, and leaves other teams alone.
	a.submit("urgent", 4, "2", queued("research"), ofClass("production"), selects("h100"))
	a.runs("urgent", 1)
	a.Until("an experiment yields", func(ctx context.Context) (string, error) {
		var attempts int32
		for _, name := range []string{"bert", "borrower"} {
			j, err := a.Get(ctx, name)
			if err != nil {
				return "", err
			}
			if j.Status.Restarts != 0 {
				t.Errorf("%s has spent a restart", name)
			}
			attempts += j.Status.Attempt
		}
		if attempts != 4 {
			return fmt.Sprintf("attempts are %d in all", attempts), nil
		}
		return "", nil
	})
	a.undisturbed("spilled")
}

// strictOrder: of the 16 GPUs of long-runs only what the first job can use is used.
func strictOrder(p team) {
	p.submit("holder", 1, "4", queued("long-runs"))
	p.runs("holder", 1)
	p.on("holder", "v100")
	p.submit("large", 4, "4", queued("long-runs"))
	p.needs("large", v1alpha1.ReasonQuotaExceeded, "16", "12")
	p.submit("small", 1, "4", queued("long-runs")) // 12 are free
	b := p.waits("small", v1alpha1.ReasonWaitingBehind)
	if b.Object != "clusterqueues.kueue.x-k8s.io/long-runs" {
		p.T.Errorf("it is about %q", b.Object)
	}
	if got := p.Column("small"); got != v1alpha1.ReasonWaitingBehind {
		p.T.Errorf("column REASON is %q", got)
	}
	p.complete("holder")
	p.runs("large", 1)
	p.complete("large")
	p.runs("small", 1)
	p.undisturbed("small")
}

// newCase makes a namespace with nodes, and LocalQueue "own" of a ClusterQueue of its name that has their
// GPUs.
func newCase(t *testing.T, w *harness.Cluster, nodes int) team {
	p := team{w.NewNamespace(t, onKueue, nodes)}
	p.clusterQueue(nodes * 8)
	p.localQueue()
	return p
}

func (p team) clusterQueue(gpus int, edit ...func(*kueuev1beta2.ClusterQueue)) {
	p.T.Helper()
	q := &kueuev1beta2.ClusterQueue{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name},
		Spec: kueuev1beta2.ClusterQueueSpec{
			NamespaceSelector: &metav1.LabelSelector{},
			ResourceGroups: []kueuev1beta2.ResourceGroup{{
				CoveredResources: []corev1.ResourceName{harness.GPU},
				Flavors: []kueuev1beta2.FlavorQuotas{{
					Name:      "any-node",
					Resources: []kueuev1beta2.ResourceQuota{{Name: harness.GPU, NominalQuota: quantity(gpus)}},
				}},
			}},
		},
	}
	for _, e := range edit {
		e(q)
	}
	p.Create(q)
}

func (p team) localQueue() {
	p.T.Helper()
	p.Create(&kueuev1beta2.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Name, Name: "own"},
		Spec:       kueuev1beta2.LocalQueueSpec{ClusterQueue: kueuev1beta2.ClusterQueueReference(p.Name)},
	})
}

// Jobs submitted in the wrong order start in the right one. Of two equal jobs, of which Kueue tries only the
// first, the first starts.
func workloadPriorities(p team) {
	p.Job("holder", 1, "8", queued("own"))
	p.runs("holder", 1)
	classes := map[string]string{"highest": "production", "middle": "experiment", "alike": "experiment"}
	for _, name := range []string{"lowest", "highest", "middle", "alike"} {
		p.Job(name, 2, "4", queued("own"), func(j *v1alpha1.TrainingJob) {
			if class := classes[name]; class != "" {
				ofClass(class)(j)
			}
		})
		p.needs(name, v1alpha1.ReasonQuotaExceeded, "8", "0")
	}
	p.complete("holder")
	order := []string{"highest", "middle", "alike", "lowest"}
	for i, name := range order {
		p.runs(name, 1)
		for _, later := range order[i+1:] {
			p.holdsNothing(later)
		}
		p.complete(name)
	}
}

// admissionCheck: the test acts as the controller that has to agree.
func admissionCheck(p team) {
	p.checked()
	p.Job("bert", 2, "1", queued("own"))
	p.waitsUntil("bert", v1alpha1.ReasonAdmissionCheckPending, "the check is pending",
		func(b v1alpha1.Blocker) bool { return strings.Contains(b.Message, p.Name+" is Pending") })
	if got := p.Column("bert"); got != v1alpha1.ReasonAdmissionCheckPending {
		p.T.Errorf("column REASON is %q", got)
	}
	if pods := p.pods("bert"); len(pods) > 0 {
		p.T.Errorf("it is not admitted, and has %d pods", len(pods))
	}
	p.answer(kueuev1beta2.AdmissionCheckState{State: kueuev1beta2.CheckStateReady, Message: "within the budget"})
	p.runs("bert", 1)
}

// checked gives the namespace's ClusterQueue an admission check of its name, which only the test answers.
func (p team) checked() {
	p.T.Helper()
	check := &kueuev1beta2.AdmissionCheck{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name},
		Spec:       kueuev1beta2.AdmissionCheckSpec{ControllerName: "example.com/budget"},
	}
	p.Create(check)
	before := check.DeepCopy()
	check.Status.Conditions = []metav1.Condition{{
		Type: kueuev1beta2.AdmissionCheckActive, Status: metav1.ConditionTrue, Reason: "Active",
		LastTransitionTime: metav1.Now(),
	}}
	if err := p.Client.Status().Patch(p.T.Context(), check, client.MergeFrom(before)); err != nil {
		p.T.Fatal(err)
	}
	q := &kueuev1beta2.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: p.Name}}
	p.MergePatch(q, fmt.Sprintf(`{"spec":{"admissionChecksStrategy":{"admissionChecks":[{"name":%q}]}}}`,
		p.Name))
	p.active(p.Name)
}

// answer the admission check of the only Workload of the namespace.
func (p team) answer(a kueuev1beta2.AdmissionCheckState) {
	p.T.Helper()
	p.Until("the check has answered", func(ctx context.Context) (string, error) {
		wl := p.workload()
		i := slices.IndexFunc(wl.Status.AdmissionChecks,
			func(c kueuev1beta2.AdmissionCheckState) bool { return string(c.Name) == p.Name })
		if i < 0 {
			return "Kueue does not ask yet", nil
		}
		c := &wl.Status.AdmissionChecks[i]
		c.State, c.Message, c.PodSetUpdates = a.State, a.Message, a.PodSetUpdates
		c.LastTransitionTime = metav1.Now()
		if err := p.Client.Status().Update(ctx, wl); err != nil {
			return err.Error(), nil // a conflict; try again
		}
		return "", nil
	})
}

func (p team) workload() *kueuev1beta2.Workload {
	p.T.Helper()
	list := &kueuev1beta2.WorkloadList{}
	if err := p.Client.List(p.T.Context(), list, client.InNamespace(p.Name)); err != nil {
		p.T.Fatal(err)
	}
	if len(list.Items) != 1 {
		p.T.Fatalf("%d Workloads, want one", len(list.Items))
	}
	return &list.Items[0]
}
