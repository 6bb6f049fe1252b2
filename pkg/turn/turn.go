// Package turn says in which order the operator looks at jobs. Where ten thousand wait, what a scheduler
// tells of all of them keeps every worker busy for a minute or two: what a user has asked for, a transition
// that is to be carried out and a rank that ends must not stand in that line.
package turn

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Priorities of requests, the first before the second.
const (
	Urgent = 10
	Usual  = 0
	// Last is that of what a process lists first, and of all that wait where something may concern them all.
	Last = handler.LowPriority
)

// Queue of a controller.
type Queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Take one for a job after a while. A job has one at a time: the earlier, with the higher priority.
func Take(q Queue, job types.NamespacedName, priority int, after time.Duration) {
	req := reconcile.Request{NamespacedName: job}
	if prioritized, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		prioritized.AddWithOpts(priorityqueue.AddOpts{Priority: &priority, After: after}, req)
	} else if after > 0 {
		q.AddAfter(req, after)
	} else {
		q.Add(req)
	}
}
