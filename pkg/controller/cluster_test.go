//go:build cluster

package controller

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
	"mlplatform.example.com/trainingjob-operator/test/fakescheduler"
)

var schedulerNames = []v1alpha1.SchedulerName{
	v1alpha1.SchedulerVolcano, v1alpha1.SchedulerNative, v1alpha1.SchedulerCoscheduling,
}

// TestOperatorOnRealSchedulers proves the wiring against a real control plane with both schedulers.
func TestOperatorOnRealSchedulers(t *testing.T) {
	cluster, err := localcluster.Up(t.Context(), localcluster.Options{
		Dir: t.TempDir() + "/cluster", Attached: true, Progress: os.Stderr,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	e := newEnvironment(t, cluster)
	t.Run("an operator that is to end while its caches are filled", e.endsWhileItStarts)
	t.Run("a scheduler that is installed later", e.schedulerAppears)

	backends := []scheduler.Backend{
		volcano.New(volcano.DefaultOptions()), native.New(native.Options{}),
		coscheduling.New(coscheduling.Options{}),
	}
	e.operator = e.startOperator(t, backends...)
	for _, name := range schedulerNames {
		e := e.on(name)
		t.Run(string(name), func(t *testing.T) {
			t.Run("a gang costs at most 14 writes and a settled job none", e.writes)
			t.Run("a gang that saves, and resumes from what its volume holds", e.saves)
			t.Run("a foreign pod holds the name", e.foreignPod)
			t.Run("a job recreated under the same name", e.recreated)
			t.Run("a quota in the middle of a gang", e.quota)
			t.Run("a priority class that does not exist", e.priorityClass)
		})
	}
	t.Run("a field of the group that is not wanted any more goes", e.removedField)
	t.Run("an operator that restarts writes nothing", func(t *testing.T) { e.restarted(t, backends) })
}

// endsWhileItStarts: a manager of controller-runtime 0.25.2 spins for ever instead if an informer was asked
// for before its start.
func (e environment) endsWhileItStarts(t *testing.T) {
	asked := make(chan struct{})
	note := sync.OnceFunc(func() { close(asked) })
	o := e.startOperatorThrough(t, func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			if !strings.HasSuffix(req.URL.Path, "/trainingjobs") {
				return next.RoundTrip(req)
			}
			note()
			<-req.Context().Done()
			return nil, req.Context().Err()
		})
	}, volcano.New(volcano.DefaultOptions()))
	select {
	case <-asked:
	case <-time.After(patience):
		t.Error("it does not ask for jobs")
	}
	o.stop()
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// later is fakescheduler.Backend under a name that a job may ask for.
type later struct{ fakescheduler.Backend }

func (later) Name() string { return string(v1alpha1.SchedulerNative) }

func (e environment) schedulerAppears(t *testing.T) {
	o := e.startOperator(t, later{})
	defer o.stop()
	job := e.on(v1alpha1.SchedulerNative).job(e.namespace(t), "early", 1)
	e.create(t, job)
	e.reaches(t, job, v1alpha1.PhasePending)
	kind := later{}.Kinds()[0]
	b := e.blocked(t, job, v1alpha1.ReasonSchedulerMissing)
	if !strings.Contains(b.Message, kind.GroupVersion().String()+" "+kind.Kind) {
		t.Errorf("the missing kind must be named, got %+v", b)
	}
	e.install(t, "../../test/fakescheduler/crd.yaml")
	e.reaches(t, job, v1alpha1.PhaseQueued)
	e.eventually(t, "the job is counted among those that wait", func(context.Context) (bool, string) {
		n := o.reconciler.gatherer.counts.Waiting.Load()
		return n > 0, fmt.Sprint(n)
	})
	e.eventually(t, "the group exists", func(context.Context) (bool, string) {
		w := o.written(job.Namespace)
		return slices.ContainsFunc(w, func(w string) bool {
			return strings.HasSuffix(w, "201") && strings.Contains(w, kind.Group)
		}), fmt.Sprint(w)
	})
}

func (e environment) writes(t *testing.T) {
	job := e.job(e.namespace(t), "bert", 8)
	e.create(t, job)
	e.reaches(t, job, v1alpha1.PhaseRunning)
	// The event, the names and counts that stand for 5 s come after the phase.
	e.eventually(t, "nothing is pending any more", func(context.Context) (bool, string) {
		got := e.reaches(t, job, v1alpha1.PhaseRunning)
		return got.Status.ReadyReplicas == 8 && len(e.operator.written(job.Namespace)) >= 14,
			fmt.Sprint(e.operator.written(job.Namespace))
	})
	before := e.operator.written(job.Namespace)
	if len(before) > 14 {
		t.Errorf("%d writes:\n%s", len(before), strings.Join(before, "\n"))
	}
	for range 10 {
		req := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(job)}
		if _, err := e.operator.reconciler.Reconcile(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	if after := e.operator.written(job.Namespace); len(after) != len(before) {
		t.Errorf("ten reconciles of a settled job wrote:\n%s", strings.Join(after[len(before):], "\n"))
	}
}

func (e environment) foreignPod(t *testing.T) {
	ns := e.namespace(t)
	foreign := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "bert-worker-1", Namespace: ns}}
	foreign.Spec.Containers = []corev1.Container{{Name: "c", Image: "foreign"}}
	foreign.Spec.NodeSelector = map[string]string{"no": "such-node"}
	e.create(t, foreign)
	job := e.job(ns, "bert", 3)
	e.create(t, job)
	b := e.blocked(t, job, v1alpha1.ReasonNameTaken)
	if !strings.Contains(b.Message, "Pod bert-worker-1") {
		t.Errorf("got %+v", b)
	}
	e.eventually(t, "the other ranks are given back", func(ctx context.Context) (bool, string) {
		pods := e.pods(ctx, t, ns)
		return len(pods) == 1 && pods[0].UID == foreign.UID && len(pods[0].OwnerReferences) == 0,
			fmt.Sprint(len(pods))
	})
	if err := e.client.Delete(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	e.reaches(t, job, v1alpha1.PhaseRunning)
}

func (e environment) recreated(t *testing.T) {
	job := e.job(e.namespace(t), "bert", 2)
	e.create(t, job)
	e.reaches(t, job, v1alpha1.PhaseRunning)
	background := client.PropagationPolicy(metav1.DeletePropagationBackground)
	if err := e.client.Delete(t.Context(), job, background); err != nil {
		t.Fatal(err)
	}
	next := e.job(job.Namespace, "bert", 2)
	e.eventually(t, "the name is free", func(ctx context.Context) (bool, string) {
		err := e.client.Create(ctx, next)
		return err == nil, fmt.Sprint(err)
	})
	e.reaches(t, next, v1alpha1.PhaseRunning)
	for _, pod := range e.pods(t.Context(), t, job.Namespace) {
		if owner, _ := memory.OwnerUID(&pod); owner != next.UID && pod.DeletionTimestamp == nil {
			t.Errorf("pod %s belongs to %s, the job is %s", pod.Name, owner, next.UID)
		}
	}
}

func (e environment) quota(t *testing.T) {
	ns := e.namespace(t)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "team", Namespace: ns}}
	quota.Spec.Hard = corev1.ResourceList{"pods": *quantity("2")}
	e.create(t, quota)
	e.eventually(t, "the quota is known", func(ctx context.Context) (bool, string) {
		if err := e.client.Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil {
			return false, err.Error()
		}
		return len(quota.Status.Hard) > 0, "no status"
	})
	job := e.job(ns, "bert", 4)
	e.create(t, job)
	if b := e.blocked(t, job, v1alpha1.ReasonExceedsQuota); !strings.Contains(b.Message, "quota team") {
		t.Errorf("got %+v", b)
	}
	e.eventually(t, "part of a gang holds nothing", func(ctx context.Context) (bool, string) {
		n := len(e.pods(ctx, t, ns))
		return n == 0, fmt.Sprint(n)
	})
	if err := e.client.Get(t.Context(), client.ObjectKeyFromObject(quota), quota); err != nil {
		t.Fatal(err)
	}
	quota.Spec.Hard["pods"] = *quantity("4")
	if err := e.client.Update(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	got := e.reaches(t, job, v1alpha1.PhaseRunning)
	if got.Status.Attempt != 1 || got.Status.Preemptions != 0 || got.Status.Restarts != 0 {
		t.Errorf("a quota ends no attempt, got %+v", got.Status)
	}
}

func (e environment) priorityClass(t *testing.T) {
	job := e.job(e.namespace(t), "bert", 2)
	job.Spec.RunPolicy.SchedulingPolicy.PriorityClass = "nonesuch-" + string(e.scheduler)
	e.create(t, job)
	var b v1alpha1.Blocker
	e.eventually(t, "the job says that the class is missing", func(ctx context.Context) (bool, string) {
		got := &v1alpha1.TrainingJob{}
		if err := e.client.Get(ctx, client.ObjectKeyFromObject(job), got); err != nil {
			return false, err.Error()
		}
		if sch := got.Status.Scheduling; sch != nil && sch.Blocker != nil {
			b = *sch.Blocker
		}
		return b.Reason == v1alpha1.ReasonPriorityClassNotFound && strings.Contains(b.Message, "nonesuch"),
			fmt.Sprintf("%+v", b)
	})
	t.Logf("%s: %s", b.Reason, b.Message)
}

func (e environment) removedField(t *testing.T) {
	e = e.on(v1alpha1.SchedulerVolcano)
	job := e.job(e.namespace(t), "wide", 100) // more than the cluster has: it stays Queued
	job.Spec.RunPolicy.SchedulingPolicy.Queue = "nowhere"
	e.create(t, job)
	group := &schedulingv1beta1.PodGroup{}
	queueOf := func(ctx context.Context) string {
		if err := e.client.Get(ctx, client.ObjectKeyFromObject(job), group); err != nil {
			return err.Error()
		}
		return group.Spec.Queue
	}
	e.eventually(t, "the group names the queue", func(ctx context.Context) (bool, string) {
		q := queueOf(ctx)
		return q == "nowhere", q
	})
	uid := group.UID
	before := e.reaches(t, job, v1alpha1.PhaseQueued)
	changed := before.DeepCopy()
	changed.Spec.RunPolicy.SchedulingPolicy.Queue = ""
	if err := e.client.Patch(t.Context(), changed, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	e.eventually(t, "the group does not name it any more", func(ctx context.Context) (bool, string) {
		q := queueOf(ctx)
		return q != "nowhere", q
	})
	if group.UID != uid {
		t.Error("the group was recreated, and lost its place")
	}
	var list []string
	for _, w := range e.operator.written(job.Namespace) {
		if strings.Contains(w, "/podgroups") {
			list = append(list, strings.Fields(w)[0]+" "+path.Base(strings.Fields(w)[1]))
		}
	}
	t.Logf("writes of the group: %v", list)
}

func (e environment) restarted(t *testing.T, backends []scheduler.Backend) {
	ns := e.namespace(t)
	var jobs []*v1alpha1.TrainingJob
	for _, name := range schedulerNames {
		job := e.on(name).job(ns, string(name), 2)
		e.create(t, job)
		jobs = append(jobs, e.reaches(t, job, v1alpha1.PhaseRunning))
	}
	e.eventually(t, "the ranks have names, after the phase", func(ctx context.Context) (bool, string) {
		var names discoveryv1.EndpointSliceList
		if err := e.client.List(ctx, &names, client.InNamespace(ns)); err != nil {
			return false, err.Error()
		}
		return len(names.Items) == len(jobs), fmt.Sprint(len(names.Items))
	})
	e.operator.stop()
	next := e.startOperator(t, backends...)
	e.eventually(t, "it knows the jobs", func(context.Context) (bool, string) {
		n := len(next.reconciler.owned.JobsOnNode(e.pods(t.Context(), t, ns)[0].Spec.NodeName))
		return n > 0, fmt.Sprint(n)
	})
	for range 3 {
		for _, job := range jobs {
			req := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(job)}
			if _, err := next.reconciler.Reconcile(t.Context(), req); err != nil {
				t.Fatal(err)
			}
		}
	}
	if w := next.written(ns); len(w) > 0 {
		t.Errorf("it wrote:\n%s", strings.Join(w, "\n"))
	}
}
