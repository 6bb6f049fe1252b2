//go:build cluster

package quotas

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
)

func quantity(n int) resource.Quantity { return *resource.NewQuantity(int64(n), resource.DecimalSI) }

// foreignQueue names "research", which exists only in team-a.
func foreignQueue(p team) {
	p.Job("bert", 2, "1", queued("research"))
	b := p.waits("bert", v1alpha1.ReasonQueueNotFound)
	if b.Object != "localqueues.kueue.x-k8s.io/research" || !strings.Contains(b.Message, p.Name) {
		p.T.Errorf("it must name queue and namespace: %+v", b)
	}
	p.Create(&kueuev1beta2.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Name, Name: "research"},
		Spec:       kueuev1beta2.LocalQueueSpec{ClusterQueue: "nowhere"},
	})
	b = p.Says("bert", v1alpha1.ReasonQueueNotFound)
	p.Until("it is the ClusterQueue that is missing now", func(context.Context) (string, error) {
		if b = p.Says("bert", v1alpha1.ReasonQueueNotFound); b.Object != "clusterqueues.kueue.x-k8s.io/nowhere" {
			return b.Object, nil
		}
		return "", nil
	})
	p.Delete(&kueuev1beta2.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: p.Name, Name: "research"}})
	p.Until("the queue is gone", func(ctx context.Context) (string, error) {
		err := p.Client.Get(ctx, client.ObjectKey{Namespace: p.Name, Name: "research"}, &kueuev1beta2.LocalQueue{})
		if err == nil {
			return "it is there", nil
		}
		return "", client.IgnoreNotFound(err)
	})
	p.Create(&kueuev1beta2.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Name, Name: "research"},
		Spec:       kueuev1beta2.LocalQueueSpec{ClusterQueue: kueuev1beta2.ClusterQueueReference(p.Name)},
	})
	p.runs("bert", 1)
}

// stoppedQueues does what examples/quotas/kueue/localqueues.yaml tells admins to do.
func stoppedQueues(p team) {
	local := &kueuev1beta2.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: p.Name, Name: "own"}}
	cluster := &kueuev1beta2.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: p.Name}}
	policy := func(o client.Object, policy string) { p.MergePatch(o, `{"spec":{"stopPolicy":"`+policy+`"}}`) }
	p.Job("runner", 1, "8", queued("own"))
	p.runs("runner", 1)

	policy(local, "Hold")
	p.Job("waiter", 1, "8", queued("own"))
	b := p.waits("waiter", v1alpha1.ReasonQueueClosed)
	if b.Object != "localqueues.kueue.x-k8s.io/own" || !strings.Contains(b.Message, "(Hold)") {
		p.T.Errorf("it must name queue and policy: %+v", b)
	}
	p.undisturbed("runner")
	policy(local, "None")
	p.runs("waiter", 1)
	p.remove("waiter")

	policy(cluster, "HoldAndDrain")
	p.Until("runner is sent back whole", func(ctx context.Context) (string, error) {
		j, err := p.Get(ctx, "runner")
		if err == nil && (j.Status.Phase != v1alpha1.PhaseQueued || j.Status.Attempt != 2 ||
			j.Status.Restarts != 0) {
			return string(j.Status.Phase), nil
		}
		return "", err
	})
	b = p.waits("runner", v1alpha1.ReasonQueueClosed)
	if b.Object != "clusterqueues.kueue.x-k8s.io/"+p.Name || !strings.Contains(b.Message, "(HoldAndDrain)") {
		p.T.Errorf("it must name queue and policy: %+v", b)
	}
	policy(cluster, "None")
	p.runs("runner", 2)
}

// foreignWorkload has the name that the job's Workload must have. It is not adopted.
func foreignWorkload(p team) {
	suspended := true
	p.Job("bert", 2, "1", queued("own"), func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.Suspend = &suspended })
	j := p.Reaches("bert", v1alpha1.PhaseSuspended)
	foreign := &kueuev1beta2.Workload{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Name,
			Name: kueue.WorkloadName(render.Gang(j, 1, false))},
		Spec: kueuev1beta2.WorkloadSpec{QueueName: "unowned", PodSets: []kueuev1beta2.PodSet{{
			Name: "main", Count: 1,
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever,
				Containers: []corev1.Container{{Name: "c", Image: "c"}}}},
		}}},
	}
	p.Create(foreign)
	before := foreign.DeepCopy()
	p.MergePatch(&v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: p.Name, Name: "bert"}},
		`{"spec":{"runPolicy":{"suspend":false}}}`)
	b := p.waits("bert", v1alpha1.ReasonNameTaken)
	if b.Object != "workloads/"+foreign.Name {
		p.T.Errorf("it is about %q", b.Object)
	}
	if err := p.Client.Get(p.T.Context(), keyOf(foreign), foreign); err != nil {
		p.T.Fatal(err)
	}
	if diff := cmp.Diff(before.Spec, foreign.Spec); diff != "" || len(foreign.OwnerReferences) > 0 ||
		len(foreign.Labels) > 0 {
		p.T.Errorf("it was adopted: %s %v %v", diff, foreign.OwnerReferences, foreign.Labels)
	}
	if pods := p.pods("bert"); len(pods) > 0 {
		p.T.Errorf("it has no Workload, and %d pods", len(pods))
	}
	p.Delete(foreign)
	p.runs("bert", 1)
}

// writes of the operator until 8 ranks run: those of every scheduler, and the two that Kueue requires: the
// binder has a group of its own, and Kueue must learn that the ranks are ready.
func writes(p team) {
	p.Job("bert", 8, "1", queued("own"))
	p.runs("bert", 1)
	want := map[string]int{
		"POST pods": 8, "POST services": 1, "POST endpointslices": 1, "POST events": 1, "POST workloads": 1,
		"POST podgroups": 1, "PATCH workloads/status": 1,
	}
	var made map[string]int
	p.Until("the last event and PodsReady are written", func(context.Context) (string, error) {
		made = tallied(p.Operator.Written(p.Name))
		if made["POST events"] == 0 || made["PATCH workloads/status"] == 0 {
			return fmt.Sprint(made), nil
		}
		return "", nil
	})
	j, err := p.Get(p.T.Context(), "bert")
	if err != nil {
		p.T.Fatal(err)
	}
	// Each phase is one write. Where its ranks take more than 5 s, as on a busy machine, Starting is a phase of
	// its own, and the job may say once more how many of them run.
	phases := j.Status.Transitions
	want["PATCH trainingjobs/status"] = len(phases)
	took := phases[len(phases)-1].Time.Sub(phases[0].Time.Time)
	if took >= observation.StatusDelay && made["PATCH trainingjobs/status"] == len(phases)+1 {
		want["PATCH trainingjobs/status"]++
	}
	if diff := cmp.Diff(want, made); diff != "" {
		p.T.Errorf("writes (-want +got):\n%s", diff)
	}
}

// tallied writes, each "POST /api/v1/namespaces/a/pods 201", by verb, resource and subresource.
func tallied(writes []string) map[string]int {
	made := map[string]int{}
	for _, w := range writes {
		verb, rest, _ := strings.Cut(w, " ")
		path, _, _ := strings.Cut(rest, " ")
		_, below, _ := strings.Cut(path, "/namespaces/")
		parts := strings.Split(below, "/") // namespace, resource, name, subresource
		what := verb + " " + parts[1]
		if len(parts) > 3 {
			what += "/" + parts[3]
		}
		made[what]++
	}
	return made
}
