package volcano

import (
	"cmp"
	"maps"

	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

var _ scheduler.QueueLimiter = Backend{}

// QueueLimits implements scheduler.QueueLimiter: the capability of the queue and of those above it. With
// deserved amounts, Volcano takes back what a queue has lent.
func (Backend) QueueLimits(g scheduler.Gang, s scheduler.ClusterState) ([]scheduler.QueueLimit, bool) {
	objects, known := s.Objects[queueKind]
	if !known {
		return nil, false
	}
	queues := newQueueTree(objects)
	q := queues[cmp.Or(g.Queue, defaultQueue)]
	if q == nil || q.Status.State != schedulingv1beta1.QueueStateOpen {
		return nil, false
	}
	var limits []scheduler.QueueLimit
	for range maxDepth {
		limit, _ := queues.limit(q, s)
		if q.Name == rootQueue {
			limit = rootLimit(q, s.UnboundRequests(g), s)
		}
		free, used := maps.Clone(limit), scheduler.AmountsOf(q.Status.Allocated)
		for name := range free {
			free[name] = max(0, free[name]-used[name])
		}
		limits = append(limits, scheduler.QueueLimit{
			Name: q.Name, Key: Name + "/" + q.Name, Limit: limit, Free: free,
			Reclaims: q.Name != rootQueue && len(q.Spec.Deserved) > 0,
		})
		if q = queues[parentOf(q)]; q == nil {
			break
		}
	}
	return limits, true
}
