//go:build cluster

package upgrade

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

// quotaIsFree checks that the quota is used up. What it returns waits until all of every quota is free.
func (s *stage) quotaIsFree() func() {
	s.t.Helper()
	if s.scheduler == localcluster.SchedulerCoscheduling {
		return s.probe()
	}
	if used, err := s.inUse(s.t.Context(), quota); err != nil || used.Value() != gpusOfQuota {
		s.t.Errorf("%s GPUs of the quota are used, want %d: %v", used.String(), gpusOfQuota, err)
	}
	return func() {
		s.t.Helper()
		s.until("every quota is free", func(ctx context.Context) (string, error) {
			for pool := range s.pools {
				used, err := s.inUse(ctx, pool)
				if err != nil || !used.IsZero() {
					return fmt.Sprintf("%s GPUs of %s are used", used.String(), pool), err
				}
			}
			return "", nil
		})
	}
}

// inUse is how many GPUs the scheduler says are used of the quota of a pool.
func (s *stage) inUse(ctx context.Context, pool string) (total resource.Quantity, err error) {
	switch s.scheduler {
	case localcluster.SchedulerVolcano:
		q, name := &volcanov1beta1.Queue{}, "default"
		if pool == quota {
			name = smallQueue
		}
		err = s.cluster.Client.Get(ctx, client.ObjectKey{Name: name}, q)
		return q.Status.Allocated[harness.GPU], err
	case localcluster.SchedulerNative:
		quotas := &corev1.ResourceQuotaList{}
		err = s.cluster.Client.List(ctx, quotas, client.InNamespace(pool))
		for _, q := range quotas.Items {
			total.Add(q.Status.Used["requests."+harness.GPU])
		}
		return total, err
	case localcluster.SchedulerKueue:
		q := &kueuev1beta2.ClusterQueue{}
		err = s.cluster.Client.Get(ctx, client.ObjectKey{Name: pool}, q)
		for _, f := range q.Status.FlavorsReservation {
			for _, r := range f.Resources {
				total.Add(r.Total)
			}
		}
		return total, err
	}
	return total, fmt.Errorf("%s does not say what is used", s.scheduler)
}

// probe the quota with a pod that needs all of it: nothing else shows what scheduler-plugins counts. The pod
// waits; what probe returns waits until it is placed, and deletes it.
func (s *stage) probe() func() {
	s.t.Helper()
	all := corev1.ResourceList{harness.GPU: count(gpusOfQuota)}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: quota, Name: "probe"},
		Spec: corev1.PodSpec{
			SchedulerName: coscheduling.DefaultSchedulerName,
			Tolerations:   []corev1.Toleration{{Key: harness.Pool, Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{
				Name: "probe", Image: "probe", Resources: corev1.ResourceRequirements{Requests: all, Limits: all},
			}},
		},
	}
	s.create(pod)
	is := func(what string, want corev1.ConditionStatus) {
		s.t.Helper()
		s.until("the probe "+what, func(ctx context.Context) (string, error) {
			err := s.cluster.Client.Get(ctx, client.ObjectKeyFromObject(pod), pod)
			for _, c := range pod.Status.Conditions {
				if c.Type == corev1.PodScheduled && c.Status == want {
					return "", err
				}
			}
			return fmt.Sprintf("%+v", pod.Status.Conditions), err
		})
	}
	is("waits", corev1.ConditionFalse)
	return func() {
		s.t.Helper()
		is("is placed", corev1.ConditionTrue)
		if err := s.cluster.Client.Delete(s.t.Context(), pod); err != nil {
			s.t.Fatal(err)
		}
	}
}
