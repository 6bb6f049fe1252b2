//go:build cluster

package upgrade

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	pluginsv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

// Pools are namespaces with nodes of their own. In crowd all gangs fit. In full one gang holds the only node
// and others wait for it. In quota one gang has used the quota up. In contested gangs preempt each other. In
// silent the node is dead but its status is Ready, so its pods neither start nor end.
const (
	crowd, full, quota, contested, silent = "crowd", "full", "quota", "contested", "silent"

	gpusPerNode = 8
	// gpusOfQuota are all that the gangs of quota may use together.
	gpusOfQuota = 2
	// ownQueue is the LocalQueue of each pool under Kueue, smallQueue Volcano's queue of the quota.
	ownQueue, smallQueue = "own", "small"
	// The gangs' classes.
	low, high = "low", "high"
)

// makePools makes them large enough for the gangs.
func (s *stage) makePools(gangs []gang) {
	s.t.Helper()
	var ofCrowd int32
	for _, g := range gangs {
		if g.pool == crowd { // Kueue gives quota to what no node can take, too
			ofCrowd += g.copies * g.gpus()
		}
	}
	if s.scheduler == localcluster.SchedulerKueue {
		s.create(&kueuev1beta2.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "any"}})
	}
	nodes := map[string]int{full: 1, quota: 1, contested: 1, silent: 1, crowd: int(ofCrowd)/gpusPerNode + 2}
	for name, n := range nodes {
		s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		pool := &harness.Namespace{
			Cluster: s.cluster, T: s.t, Name: name, Scheduler: v1alpha1.SchedulerName(s.scheduler),
		}
		s.pools[name] = pool
		for i := range n {
			pool.Node(i)
		}
		gpus := n * gpusPerNode
		if name == quota {
			gpus = gpusOfQuota
			s.limit(gpus)
		}
		if s.scheduler == localcluster.SchedulerKueue {
			s.makeQueue(name, gpus)
		}
	}
	if err := s.cluster.KillNode(s.t.Context(), silent+"-0"); err != nil {
		s.t.Fatal(err)
	}
}

// makeQueue gives a pool a queue of Kueue's.
func (s *stage) makeQueue(pool string, gpus int) {
	s.t.Helper()
	q := &kueuev1beta2.ClusterQueue{
		ObjectMeta: metav1.ObjectMeta{Name: pool},
		Spec: kueuev1beta2.ClusterQueueSpec{
			NamespaceSelector: &metav1.LabelSelector{},
			Preemption: &kueuev1beta2.ClusterQueuePreemption{
				WithinClusterQueue: kueuev1beta2.PreemptionPolicyLowerPriority,
			},
			ResourceGroups: []kueuev1beta2.ResourceGroup{{
				CoveredResources: []corev1.ResourceName{harness.GPU},
				Flavors: []kueuev1beta2.FlavorQuotas{{
					Name: "any", Resources: []kueuev1beta2.ResourceQuota{{Name: harness.GPU, NominalQuota: count(gpus)}},
				}},
			}},
		},
	}
	s.create(q)
	s.create(&kueuev1beta2.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: pool, Name: ownQueue},
		Spec:       kueuev1beta2.LocalQueueSpec{ClusterQueue: kueuev1beta2.ClusterQueueReference(pool)},
	})
	s.until("ClusterQueue "+pool+" is active", func(ctx context.Context) (string, error) {
		err := s.cluster.Client.Get(ctx, client.ObjectKeyFromObject(q), q)
		if !meta.IsStatusConditionTrue(q.Status.Conditions, kueuev1beta2.ClusterQueueActive) {
			return fmt.Sprintf("%+v", q.Status.Conditions), err
		}
		return "", err
	})
}

// limit what the gangs of quota may use, where that is not Kueue's queue.
func (s *stage) limit(gpus int) {
	s.t.Helper()
	inPool := metav1.ObjectMeta{Namespace: quota, Name: "gpus"}
	switch s.scheduler {
	case localcluster.SchedulerVolcano:
		q := &volcanov1beta1.Queue{
			ObjectMeta: metav1.ObjectMeta{Name: smallQueue},
			Spec:       volcanov1beta1.QueueSpec{Weight: 1, Capability: corev1.ResourceList{harness.GPU: count(gpus)}},
		}
		s.create(q)
		s.until("the queue is open", func(ctx context.Context) (string, error) {
			err := s.cluster.Client.Get(ctx, client.ObjectKeyFromObject(q), q)
			if q.Status.State != volcanov1beta1.QueueStateOpen {
				return "it is " + string(q.Status.State), err
			}
			return "", err
		})
	case localcluster.SchedulerNative:
		s.create(&corev1.ResourceQuota{ObjectMeta: inPool, Spec: corev1.ResourceQuotaSpec{
			Hard: corev1.ResourceList{"requests." + harness.GPU: count(gpus)},
		}})
	case localcluster.SchedulerCoscheduling:
		plenty := resource.MustParse("1Pi")
		most := corev1.ResourceList{
			harness.GPU: count(gpus), corev1.ResourceCPU: plenty, corev1.ResourceMemory: plenty,
			corev1.ResourceEphemeralStorage: plenty,
		}
		s.create(&pluginsv1alpha1.ElasticQuota{
			ObjectMeta: inPool, Spec: pluginsv1alpha1.ElasticQuotaSpec{Min: most, Max: most},
		})
	}
}

func count(n int) resource.Quantity { return *resource.NewQuantity(int64(n), resource.DecimalSI) }
