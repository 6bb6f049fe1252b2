//go:build cluster

package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

const account = "trainingjob-operator"

// TestInstalledOperatorIsAllowedWhatItDoes applies deploy/ as a user would, runs the binary with exactly the
// rights of its service account, and takes gangs through everything that the operator writes. No request may
// be forbidden.
func TestInstalledOperatorIsAllowedWhatItDoes(t *testing.T) {
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
	kubectl(t, cluster, "apply", "--server-side", "-f", "../../deploy/crd")
	kubectl(t, cluster, "apply", "--server-side", "-k", "../../deploy/operator")

	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cluster.RESTConfig(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "TrainingJobs are served", func(ctx context.Context) (bool, string) {
		err := c.List(ctx, &v1alpha1.TrainingJobList{})
		return err == nil, fmt.Sprint(err)
	})
	binary := harness.Program(t, "operator")
	o := start(t, binary, cluster, c, "")
	o.ready(t)
	runLifecycles(t, c, "default")
	t.Run("the leader holds a lease", func(t *testing.T) {
		lease := &coordinationv1.Lease{}
		if err := c.Get(t.Context(), types.NamespacedName{Namespace: defaultNamespace, Name: leaseName},
			lease); err != nil {
			t.Fatal(err)
		}
		if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
			t.Errorf("got %+v", lease.Spec)
		}
	})
	t.Run("metrics are for those who may read them", func(t *testing.T) { o.metrics(t, c) })
	t.Run("profiles", func(t *testing.T) { o.profiles(t) })
	t.Run("reports are for ranks", func(t *testing.T) { o.reports(t, c) })
	o.stop(t)
	t.Run("the lease is released", func(t *testing.T) {
		lease := &coordinationv1.Lease{}
		if err := c.Get(t.Context(), types.NamespacedName{Namespace: defaultNamespace, Name: leaseName},
			lease); err != nil {
			t.Fatal(err)
		}
		if lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "" {
			t.Errorf("the next leader has to wait for %s", *lease.Spec.HolderIdentity)
		}
	})
	o.forbiddenNothing(t)
	t.Run("with rights in some namespaces", func(t *testing.T) { runLimited(t, binary, cluster, c) })
}

// forbiddenNothing checks that the log of an operator that was stopped has no error.
func (p *process) forbiddenNothing(t *testing.T) {
	t.Helper()
	// controller-runtime 0.25.2 may say so of a lease that it has just released (initLeaderElector), and what
	// was asked while it was stopped is cut off.
	ends := regexp.MustCompile(
		`.*(after stop sequence was engaged","error":"leader election lost"|context canceled).*`)
	log := ends.ReplaceAllString(p.log(), "")
	if m := regexp.MustCompile(`(?i).*(forbidden|unauthorized|"level":"error").*`).FindAllString(log,
		5); len(m) > 0 {
		t.Errorf("the log has:\n%s", strings.Join(m, "\n"))
	}
}

// runLifecycles runs one of each scheduler.
func runLifecycles(t *testing.T, c client.Client, namespace string) {
	for _, scheduler := range []v1alpha1.SchedulerName{v1alpha1.SchedulerVolcano, v1alpha1.SchedulerNative,
		v1alpha1.SchedulerCoscheduling} {
		t.Run(string(scheduler), func(t *testing.T) { runLifecycle(t, c, namespace, scheduler) })
	}
}

// runLifecycle takes a job through creation, a change of its group, suspension, resumption, its end and the
// deletion after its TTL.
func runLifecycle(t *testing.T, c client.Client, namespace string, scheduler v1alpha1.SchedulerName) {
	job := gangOf40(namespace, "life-"+string(scheduler), scheduler)
	if scheduler == v1alpha1.SchedulerVolcano {
		job.Spec.RunPolicy.SchedulingPolicy.Queue = "default"
	}
	if err := c.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	waitForPhase(t, c, job, v1alpha1.PhaseQueued) // 40 ranks do not fit on 32 GPUs
	if scheduler == v1alpha1.SchedulerVolcano {
		patch(t, c, job, func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.SchedulingPolicy.Queue = "" }) // an apply
	}
	patch(t, c, job, func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.Suspend = new(true) })
	waitForPhase(t, c, job, v1alpha1.PhaseSuspended)
	patch(t, c, job, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.Suspend, j.Spec.Replicas = nil,
			new(int32(4))
	})
	waitForPhase(t, c, job, v1alpha1.PhaseRunning)
	eventually(t, "the finished job is deleted", func(ctx context.Context) (bool, string) {
		err := c.Get(ctx, client.ObjectKeyFromObject(job), job)
		return client.IgnoreNotFound(err) == nil && err != nil, string(job.Status.Phase)
	})
}

func gangOf40(namespace, name string, scheduler v1alpha1.SchedulerName) *v1alpha1.TrainingJob {
	job := &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: v1alpha1.TrainingJobSpec{
			Framework: v1alpha1.FrameworkPyTorch, Image: "trainer", Command: []string{"sleep", "3"},
			Replicas: new(int32(40)),
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")},
			},
			RunPolicy: v1alpha1.RunPolicy{TTLSecondsAfterFinished: new(int32(1))},
		},
	}
	job.Spec.RunPolicy.SchedulingPolicy.Scheduler = scheduler
	return job
}

func patch(t *testing.T, c client.Client, job *v1alpha1.TrainingJob, do func(*v1alpha1.TrainingJob)) {
	t.Helper()
	before := job.DeepCopy()
	do(job)
	if err := c.Patch(t.Context(), job, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

func waitForPhase(t *testing.T, c client.Client, job *v1alpha1.TrainingJob, phase v1alpha1.Phase) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s is %s", job.Name, phase), func(ctx context.Context) (bool, string) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(job), job); err != nil {
			return false, err.Error()
		}
		return job.Status.Phase == phase, fmt.Sprintf("%s: %s", job.Status.Phase, job.Status.Message)
	})
}

func eventually(t *testing.T, what string, is func(context.Context) (bool, string)) {
	t.Helper()
	var last string
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 120*time.Second, true,
		func(ctx context.Context) (bool, error) {
			var ok bool
			ok, last = is(ctx)
			return ok, nil
		})
	if err != nil {
		t.Fatalf("waiting until %s: %v; last: %s", what, err, last)
	}
}
