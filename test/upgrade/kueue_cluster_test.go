//go:build cluster

package upgrade

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// absence of the operator under Kueue, while jobs are deleted: their Workloads keep the quota, until an admin
// releases them as in docs/quotas.md, or until an operator is back. It returns that operator.
func (s *stage) absence(o *operator) *operator {
	s.t.Helper()
	s.stop(o)
	used := s.abandon("training-0")
	s.shell(s.documented("docs/quotas.md", removeFromKueue, "```sh\n"))
	s.released("training-0", used)
	used = s.abandon("resumed-0")
	next := s.start(o.release)
	s.released("resumed-0", used)
	return next
}

// abandon deletes a job whose operator is away. Its pods end; its Workload stays, and keeps its quota. It
// returns how much is used of that.
func (s *stage) abandon(name string) resource.Quantity {
	s.t.Helper()
	used, err := s.inUse(s.t.Context(), crowd)
	if err != nil {
		s.t.Fatal(err)
	}
	job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: crowd, Name: name}}
	if err := s.cluster.Client.Delete(s.t.Context(), job); err != nil {
		s.t.Fatal(err)
	}
	s.until(name+" has no pods, and its Workload hangs", func(ctx context.Context) (string, error) {
		pods, err := s.pods(ctx, name)
		if err != nil || len(pods) > 0 {
			return fmt.Sprintf("it has %d pods", len(pods)), err
		}
		workloads, err := s.workloads(ctx, name)
		if err != nil || len(workloads) != 1 || workloads[0].DeletionTimestamp == nil {
			return fmt.Sprintf("it has %d Workloads", len(workloads)), err
		}
		return "", nil
	})
	if now, err := s.inUse(s.t.Context(), crowd); err != nil || now.Cmp(used) != 0 {
		s.t.Errorf("%s is deleted, and of %s GPUs %s are still used: %v", name, used.String(), now.String(), err)
	}
	return used
}

// released waits until the job has no Workload, and Kueue says that less is used than before.
func (s *stage) released(name string, before resource.Quantity) {
	s.t.Helper()
	s.until("the quota of "+name+" is free", func(ctx context.Context) (string, error) {
		workloads, err := s.workloads(ctx, name)
		if err != nil || len(workloads) > 0 {
			return fmt.Sprintf("it has %d Workloads", len(workloads)), err
		}
		now, err := s.inUse(ctx, crowd)
		if err != nil || now.Cmp(before) >= 0 {
			return fmt.Sprintf("%s GPUs are used, and before it were %s", now.String(), before.String()), err
		}
		return "", nil
	})
}

func (s *stage) workloads(ctx context.Context, job string) ([]kueuev1beta2.Workload, error) {
	list := &kueuev1beta2.WorkloadList{}
	err := s.cluster.Client.List(ctx, list, client.MatchingLabels{v1alpha1.LabelJobName: job})
	return list.Items, err
}
