//go:build cluster

package conformance

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	pluginsv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
)

// elasticQuota is the file that an admin applies; its quota is 16 GPUs.
const elasticQuota = "../../examples/quotas/coscheduling/elasticquota.yaml"

// TestElasticQuotaOnCoscheduling: CapacityScheduling counts ranks one by one (pkg/capacityscheduling,
// Reserve), also those that wait for the rest of their gang. The first ranks of a gang that exceeds the quota
// therefore take what is left of it and give it back when the next rank is rejected, because Coscheduling's
// PostFilter rejects them too. None is ever bound.
func TestElasticQuotaOnCoscheduling(t *testing.T) {
	t.Parallel()
	cluster := sharedCluster(t)
	defer cluster.takeTurn(coschedulingDialect())()
	_, err := attemptScenario(inTime(t), cluster, coschedulingDialect(), []Step{
		applyQuota(),
		untilQuotaCounts(),
		submitWithCPU(jobSpec{name: "never", ranks: 5, gpus: 4}),
		until("never", waits(), blockedBy(v1alpha1.ReasonExceedsQuota), needs("20", "16")),
		remove("never"),
		nothingLeft("never"),
		submitWithCPU(jobSpec{name: "first", ranks: 2, gpus: 4}),
		until("first", runsWhole(2), holds(8)),
		// 8 GPUs of the quota are left, enough for two of its ranks, and 24 on the nodes.
		submitWithCPU(jobSpec{name: "second", ranks: 3, gpus: 4}),
		judged("second"),
		until("second", waits(), blockedBy(v1alpha1.ReasonQuotaExceeded), needs("12", "8")),
		free(24),
		neverBound("second"),
		// Its failed try occupies nothing of the quota either.
		submitWithCPU(jobSpec{name: "small", ranks: 2, gpus: 4}),
		until("small", runsWhole(2)),
		complete("small"),
		until("small", is(v1alpha1.PhaseSucceeded)),
		judged("second"),
		neverBound("second"),
		now("second", waits(), holds(0), attempt(1)),
		now("first", runsWhole(2), attempt(1)),
		raiseQuota("20"),
		until("second", runsWhole(3), attempt(1), spent(0, 0), holds(12)),
		now("first", runsWhole(2), attempt(1)),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

func readQuota(namespace string) (*pluginsv1alpha1.ElasticQuota, error) {
	content, err := os.ReadFile(elasticQuota)
	if err != nil {
		return nil, err
	}
	quota := &pluginsv1alpha1.ElasticQuota{}
	if err := yaml.UnmarshalStrict(content, quota); err != nil {
		return nil, err
	}
	quota.Namespace = namespace
	return quota, nil
}

func applyQuota() Step {
	return Step{"the namespace is given " + elasticQuota, func(ctx context.Context, e *Env) error {
		quota, err := readQuota(e.namespace)
		if err != nil {
			return err
		}
		return e.cluster.client.Create(ctx, quota)
	}}
}

func raiseQuota(gpus string) Step {
	return Step{"the quota is raised to " + gpus + " GPUs", func(ctx context.Context, e *Env) error {
		quota, err := readQuota(e.namespace)
		if err != nil {
			return err
		}
		raised := quota.DeepCopy()
		raised.Spec.Min[GPU], raised.Spec.Max[GPU] = resource.MustParse(gpus), resource.MustParse(gpus)
		return e.cluster.client.Patch(ctx, raised, client.MergeFrom(quota))
	}}
}

// untilQuotaCounts waits until the scheduler knows the quota, which no object shows. It probes with pods that
// request more CPUs than the quota or any node has, and reads the reason for which they are not placed. The
// scheduler does not retry a pod that fits no node, so each probe is a new pod.
func untilQuotaCounts() Step {
	return Step{"until the scheduler knows the quota", func(ctx context.Context, e *Env) error {
		for n := 0; ; n++ {
			probe := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: fmt.Sprintf("probe-%d", n)},
				Spec: corev1.PodSpec{SchedulerName: coscheduling.DefaultSchedulerName, Containers: []corev1.Container{{
					Name: "probe", Image: image,
					Resources: corev1.ResourceRequirements{
						Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2M")},
					},
				}}},
			}
			message, err := e.unschedulableMessage(ctx, probe)
			if err != nil || strings.Contains(message, "is more than Max") {
				return err
			}
		}
	}}
}

// unschedulableMessage returns the scheduler's message about a pod that it cannot place, and deletes the pod.
func (e *Env) unschedulableMessage(ctx context.Context, pod *corev1.Pod) (message string, err error) {
	if err := e.cluster.client.Create(ctx, pod); err != nil {
		return "", err
	}
	err = poll(ctx, func(ctx context.Context) (string, error) {
		if err := e.cluster.client.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return "", err
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				message = c.Message
				return "", nil
			}
		}
		return "the scheduler has not tried " + pod.Name, nil
	})
	if err != nil {
		return "", err
	}
	if err := e.cluster.client.Delete(ctx, pod, client.GracePeriodSeconds(0)); err != nil {
		return "", err
	}
	return message, poll(ctx, func(ctx context.Context) (string, error) {
		err := e.cluster.client.Get(ctx, client.ObjectKeyFromObject(pod), pod)
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return pod.Name + " is still there", err
	})
}

// submitWithCPU submits ranks that request CPUs and memory besides GPUs, as real ones do.
func submitWithCPU(a jobSpec) Step {
	return Step{fmt.Sprintf("%s is submitted", a.name), func(ctx context.Context, e *Env) error {
		job := a.job(e)
		job.Spec.Resources.Requests[corev1.ResourceCPU] = resource.MustParse("2")
		job.Spec.Resources.Requests[corev1.ResourceMemory] = resource.MustParse("4Gi")
		return e.cluster.client.Create(ctx, job)
	}}
}

func blockedBy(reason string) Expectation {
	return ofStatus("is blocked by "+reason, func(st *v1alpha1.TrainingJobStatus) string {
		if st.Scheduling == nil || st.Scheduling.Blocker == nil {
			return "there is no blocker"
		}
		return differs("the blocker's reason", st.Scheduling.Blocker.Reason, reason)
	})
}

// needs expects the blocker's numbers of GPUs.
func needs(need, free string) Expectation {
	return ofStatus("needs "+need+" GPUs with "+free+" free", func(st *v1alpha1.TrainingJobStatus) string {
		if st.Scheduling == nil || st.Scheduling.Blocker == nil {
			return "there is no blocker"
		}
		n, f := st.Scheduling.Blocker.Need[GPU], st.Scheduling.Blocker.Free[GPU]
		return differs("need and free", n.String()+" and "+f.String(), need+" and "+free)
	})
}

// free checks the number of free GPUs on the nodes.
func free(gpus int64) Step {
	return Step{fmt.Sprintf("%d GPUs are free", gpus), func(ctx context.Context, e *Env) error {
		v, err := e.look(ctx)
		if err != nil {
			return err
		}
		var n int64
		for _, has := range e.nodes {
			n += has
		}
		for _, p := range v.pods {
			if p.Spec.NodeName != "" && Live(p) {
				n -= GPUsOf(p)
			}
		}
		if n != gpus {
			return fmt.Errorf("%d GPUs are free, not %d", n, gpus)
		}
		return nil
	}}
}
