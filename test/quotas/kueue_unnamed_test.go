//go:build cluster

package quotas

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

// managedLabel marks the pods that Kueue's pod integration takes for jobs of their own
// (sigs.k8s.io/kueue/pkg/constants, ManagedByKueueLabelKey).
const managedLabel = "kueue.x-k8s.io/managed"

// TestKueueWithoutQueueName: jobs that name no queue, where Kueue manages every job.
func TestKueueWithoutQueueName(t *testing.T) {
	w, err := harness.Start(t.Context(), managingAll(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Stop(); err != nil {
			t.Error(err)
		}
	})
	p := newCase(t, w, 1)
	p.Create(&kueuev1beta2.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "any-node"}})
	waitsForAQueue(p)
	getsTheDefault(p)
}

// managingAll is a cluster whose Kueue and operator have manageJobsWithoutQueueName.
func managingAll(t *testing.T) harness.Options {
	t.Helper()
	o := withKueue(0)
	o.Root, o.Modules = root, t.TempDir()
	if err := os.CopyFS(o.Modules, os.DirFS(filepath.Join(root, "lab/modules"))); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(o.Modules, "kueue/configuration.yaml")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	content = bytes.Replace(content, []byte("\nleaderElection:"),
		[]byte("\nmanageJobsWithoutQueueName: true\nleaderElection:"), 1)
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	o.Backends[0] = kueue.New(kueue.Options{ManageJobsWithoutQueueName: true})
	return o
}

// waitsForAQueue: as a Job of Kueue's, it has a Workload and no pods until it names a queue.
func waitsForAQueue(p team) {
	p.Job("unnamed", 2, "1")
	b := p.waits("unnamed", v1alpha1.ReasonQueueNotFound)
	if n := len(p.pods("unnamed")); n > 0 {
		p.T.Errorf("it waits, and has %d pods: %s", n, b.Message)
	}
	if q := p.workload().Spec.QueueName; q != "" {
		p.T.Errorf("its Workload names queue %q", q)
	}
	p.MergePatch(p.existing("unnamed"), fmt.Sprintf(`{"metadata":{"labels":{%q:"own"}}}`, kueue.QueueLabel))
	p.runs("unnamed", 1)
	p.ranksAreNoJobs("unnamed")
	p.remove("unnamed")
}

// getsTheDefault: where the namespace has a LocalQueue default, a job gets it as it is created.
func getsTheDefault(p team) {
	deploy(p.T, p.Cluster, "kueue_default_queue.yaml")
	queue := &kueuev1beta2.LocalQueue{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: p.Name}}
	queue.Spec.ClusterQueue = kueuev1beta2.ClusterQueueReference(p.Name)
	p.Create(queue)
	p.Until("the policy is in force", func(context.Context) (string, error) {
		if p.queueOf(func(*v1alpha1.TrainingJob) {}) == "" {
			return "no label yet", nil
		}
		return "", nil
	})
	other := team{p.Cluster.Namespace(p.T, p.Scheduler, p.Name+"-without")}
	cases := map[string]struct {
		p    team
		edit func(*v1alpha1.TrainingJob)
		want string
	}{
		"scheduler kueue": {p, func(*v1alpha1.TrainingJob) {}, "default"},
		"no scheduler": {p, func(j *v1alpha1.TrainingJob) {
			j.Spec.RunPolicy.SchedulingPolicy.Scheduler = ""
		}, "default"},
		"dispatched": {p, dispatched, "default"},
		"another scheduler": {p, func(j *v1alpha1.TrainingJob) {
			j.Spec.RunPolicy.SchedulingPolicy.Scheduler = v1alpha1.SchedulerNative
		}, ""},
		"a queue in the spec": {p, func(j *v1alpha1.TrainingJob) {
			j.Spec.RunPolicy.SchedulingPolicy.Queue = "own"
		}, ""},
		"a queue by label": {p, queued("own"), "own"},
		"another controller": {p, func(j *v1alpha1.TrainingJob) {
			j.Spec.ManagedBy = "example.com/another"
		}, ""},
		"a namespace without it": {other, func(*v1alpha1.TrainingJob) {}, ""},
	}
	for name, c := range cases {
		if got := c.p.queueOf(c.edit); got != c.want {
			p.T.Errorf("%s: the job gets queue %q, want %q", name, got, c.want)
		}
	}
	p.Job("defaulted", 2, "1")
	p.runs("defaulted", 1)
	p.ranksAreNoJobs("defaulted")
}

// queueOf creates a job as a dry run and returns the queue label that it has then.
func (p team) queueOf(edit func(*v1alpha1.TrainingJob)) string {
	p.T.Helper()
	j := p.Gang("probe", 1, "1", edit)
	if err := p.Client.Create(p.T.Context(), j, client.DryRunAll); err != nil {
		p.T.Fatal(err)
	}
	return j.Labels[kueue.QueueLabel]
}

// ranksAreNoJobs checks that Kueue has one Workload for the job and leaves its ranks alone.
func (p team) ranksAreNoJobs(name string) {
	p.T.Helper()
	p.Until("the Workload of "+name+" is the only one", func(ctx context.Context) (string, error) {
		list := &kueuev1beta2.WorkloadList{}
		if err := p.Client.List(ctx, list, client.InNamespace(p.Name)); err != nil {
			return "", err
		}
		if n := len(list.Items); n != 1 || !metav1.IsControlledBy(&list.Items[0], p.existing(name)) {
			return fmt.Sprintf("%d Workloads", n), nil
		}
		return "", nil
	})
	for _, pod := range p.pods(name) {
		if _, managed := pod.Labels[managedLabel]; managed || len(pod.Finalizers) > 0 {
			p.T.Errorf("Kueue takes %s for a job: labels %v, finalizers %v", pod.Name, pod.Labels, pod.Finalizers)
		}
	}
}
