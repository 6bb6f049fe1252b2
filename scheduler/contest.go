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
	// Gate is the preemption gate of a waiting gang, and since when it has that state.
	Gate      Gate
	GateSince metav1.Time
	// AdmissionGate that the operator has set; "": there is none any more.
	// NotAdmissible: it is deactivated, or another controller gates it too.
	AdmissionGate Gate
	NotAdmissible bool
	// Needs of a waiting gang, and the free amounts of the queue's own quotas, by flavor.
	Needs []QuotaNeed
	Free  map[string]Amounts
}

// QuotaNeed is the total request of all ranks of a role from one flavor, and the flavors that have it.
type QuotaNeed struct {
	Requests Amounts
	Flavors  []string
}

// Gate is the state of a waiting gang's gate.
type Gate string

const (
	// GateClosed: the scheduler has reported nothing about the gate.
	GateClosed Gate = "Closed"
	// GateBlocks: the scheduler would preempt if the gate were open, or reports that it does not admit the gang
	// because of the gate.
	GateBlocks Gate = "Blocks"
	// GateOpen: the scheduler may preempt.
	GateOpen Gate = "Open"
	// GateIgnored: the scheduler has judged the gang and does not support gates.
	GateIgnored Gate = "Ignored"
)

// MaxUngated is how many waiting gangs of a queue lose their admission gates, in the order of the queue. The
// operator cannot close a gate again, so a reservation does not hold the gangs without one.
const MaxUngated = 16
