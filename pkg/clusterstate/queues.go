package clusterstate

import (
	"slices"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// queueKey is a queue of a scheduler.
type queueKey struct{ scheduler, queue string }

// queues are the jobs that wait, by queue and in the order of service. A job's place is found without a look
// at the others: each of thousands of jobs asks for its own.
type queues map[queueKey][]scheduler.Waiter

func keyOfQueue(w scheduler.Waiter) queueKey { return queueKey{w.Scheduler, w.Queue} }

func (q queues) add(w scheduler.Waiter) {
	key := keyOfQueue(w)
	if i, found := slices.BinarySearchFunc(q[key], w, scheduler.Waiter.Compare); !found {
		q[key] = slices.Insert(q[key], i, w)
	}
}

// remove a waiter as it was added.
func (q queues) remove(w scheduler.Waiter) {
	key := keyOfQueue(w)
	i, found := slices.BinarySearchFunc(q[key], w, scheduler.Waiter.Compare)
	if !found {
		return
	}
	if q[key] = slices.Delete(q[key], i, i+1); len(q[key]) == 0 {
		delete(q, key)
	}
}

// ahead of a waiter, whether or not it is in its queue.
func (q queues) ahead(of scheduler.Waiter) scheduler.Ahead {
	all := q[keyOfQueue(of)]
	n, _ := slices.BinarySearchFunc(all, of, scheduler.Waiter.Compare)
	if n == 0 {
		return scheduler.Ahead{}
	}
	return scheduler.Ahead{Count: n, First: all[0]}
}
