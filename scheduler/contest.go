package scheduler

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Contest is a gang's state in the contest for the quotas of a queue.
type Contest struct {
	// Queue that has the quotas. Its gangs contend for them.
	Queue string
	// Value by which the scheduler compares them.
	Value int32
	// Reserved is since when the gang has quota, and Holds how much, by flavor. Zero: it waits.
	Reserved metav1.Time
	Holds    map[string]Amounts
	// Preempted: the scheduler has decided to preempt it.
	Preempted bool
	// Spared: the operator or a user has marked it, and it is preempted after others of its class.
	Spared bool
	// Gate of a waiting gang, and since when it has that state.
	Gate      Gate
	GateSince metav1.Time
	// Needs of a waiting gang, and the free amounts of the queue's own quotas, by flavor.
	Needs []QuotaNeed
	Free  map[string]Amounts
}

// QuotaNeed is the total request of all ranks of a role from one flavor, and the flavors that have it.
type QuotaNeed struct {
	Requests Amounts
	Flavors  []string
}

// Gate is the state of a waiting gang's preemption gate.
type Gate string

const (
	// GateClosed: the scheduler has not reported that it would preempt for the gang.
	GateClosed Gate = "Closed"
	// GateBlocks: the scheduler would preempt if the gate were open.
	GateBlocks Gate = "Blocks"
	// GateOpen: the scheduler may preempt.
	GateOpen Gate = "Open"
	// GateIgnored: the scheduler has judged the gang and does not support gates.
	GateIgnored Gate = "Ignored"
)
