package scheduler

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Contest is a gang's part in the contest for the quotas of a queue.
type Contest struct {
	// Queue that has the quotas. Gangs of the same one contend for them.
	Queue string
	// Value by which the scheduler compares them.
	Value int32
	// Reserved is since when it has quota, and Holds how much, by flavor. Zero: it waits.
	Reserved metav1.Time
	Holds    map[string]Amounts
	// Preempted: the scheduler has decided to end it for another one.
	Preempted bool
	// Spared: it is marked, by the operator or by somebody else, and comes after others of its class.
	Spared bool
	// Gate of a gang that waits, and since when it is as it is.
	Gate      Gate
	GateSince metav1.Time
	// Needs of a gang that waits, and what the queue's own quotas have left, by flavor.
	Needs []QuotaNeed
	Free  map[string]Amounts
}

// QuotaNeed is what all ranks of a role request together of one flavor, and the flavors that have it.
type QuotaNeed struct {
	Requests Amounts
	Flavors  []string
}

// Gate of a gang that waits for quota.
type Gate string

const (
	// GateClosed: the scheduler has not said that it would end others for the gang.
	GateClosed Gate = "Closed"
	// GateBlocks: it would.
	GateBlocks Gate = "Blocks"
	// GateOpen: it may.
	GateOpen Gate = "Open"
	// GateIgnored: it has judged the gang, and does not know of gates.
	GateIgnored Gate = "Ignored"
)
