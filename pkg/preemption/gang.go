package preemption

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Ref identifies one attempt of a job, and so one gang.
type Ref struct {
	UID     types.UID
	Attempt int32
}

// Running is a running gang that may have to yield.
type Running struct {
	Ref
	// Value of its priority class.
	Value int32
	// GPUs of all its ranks.
	GPUs int64
	// Holds is what its pods hold by node, and what it uses of a budget, by the budget's name.
	Holds map[string]scheduler.Amounts
	// Ending is true from when it begins to end until its last pod has ended.
	Ending bool
	// Foreign: the preemptor's scheduler would not preempt it.
	Foreign bool

	// MinRun is how long it runs before it is preempted, if there are other victims; 0: as the Policy has it.
	MinRun time.Duration
	// Began is when it started to run. Saved is when the operator received the last commit of this attempt,
	// and Reported the last report; zero: never.
	Began, Saved, Reported time.Time
	// Save is the duration of its last save. Start is that of its last start, from Running to the first new
	// step. Both are 0 if unknown. Grace is its termination grace period.
	Save, Start, Grace time.Duration
	// Optimum is the interval between saves that loses the least work; 0: unknown. AskedAhead is when the
	// operator last requested an early save; zero: never.
	Optimum    time.Duration
	AskedAhead time.Time
	// AskFailed is true if a requested save did not end in a commit.
	AskFailed bool
	// NextSave is when it is expected to save by itself, End when it is expected to finish; zero: unknown.
	NextSave, End time.Time
}

// Waiting is a gang that lacks capacity.
type Waiting struct {
	Ref
	Value int32
	// Since is when it entered the queue. Blocked is since when it is known to lack capacity.
	Since, Blocked time.Time
	// MaxDelay is the longest that it waits until victims have saved.
	MaxDelay time.Duration
	// Needs of each role that lacks ranks.
	Needs []Need
	// Within are the names of the budgets that all these ranks together must fit into, in addition to their
	// nodes.
	Within []string
	// Domains are groups of nodes, one of which must take all these ranks; nil: the ranks can be anywhere. The
	// first ones are preferred at the same cost.
	Domains []Domain
}

// Domain is a group of nodes, such as those of a rack.
type Domain struct {
	Name string
	// Nodes by name. No node is in two domains.
	Nodes []string
}

// Need is the unplaced ranks of one role.
type Need struct {
	Ranks int64
	// Requests of one rank, all above 0.
	Requests scheduler.Amounts
	// Nodes that accept the ranks, by name.
	Nodes []string
}

// Node has the free amounts of a node, or of a budget such as a queue's quota, which has only the resources
// that it limits. All names differ.
type Node struct {
	Name string
	Free scheduler.Amounts
}

// Policy holds the settings of the admins.
type Policy struct {
	// MinRun is how long a gang runs before it is preempted, if there are other victims.
	MinRun time.Duration
	// LossCap bounds the unsaved work that counts as loss.
	LossCap time.Duration
	// UnknownStart is the start time of a gang that never trained a step.
	UnknownStart time.Duration
	// MeanRun is the time between interruptions of a gang that never had one.
	MeanRun time.Duration
	// Heartbeat is the longest time that a command takes to reach a gang.
	Heartbeat time.Duration
	// Patience is how long a gang must lack capacity before it gets a plan: most gangs fit before that.
	Patience time.Duration
	// MaxPlans is the limit of outstanding plans.
	MaxPlans int
	// MaxRounds is how often one attempt is planned for if other pods take the freed capacity.
	MaxRounds int
	// Placing is how long a scheduler may take to use the freed capacity.
	Placing time.Duration
}
