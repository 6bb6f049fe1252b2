package preemption

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Ref names one attempt of a job, and so one gang.
type Ref struct {
	UID     types.UID
	Attempt int32
}

// Running is a gang that runs and may be asked to make room.
type Running struct {
	Ref
	// Value is the value of its priority class.
	Value int32
	// GPUs of all its ranks.
	GPUs int64
	// Holds is what its pods hold, by node, and what of a budget it uses, by the budget's name.
	Holds map[string]scheduler.Amounts
	// Ending is true from when it is being ended until its last pod is gone.
	Ending bool
	// Foreign gangs are beyond the preemptor's scheduler: it would not preempt them for anybody.
	Foreign bool

	// MinRun is how long it runs before it is preempted, if others can be; 0: as long as the Policy says.
	MinRun time.Duration
	// Began is when it began to run. Saved is when a commit of this attempt was last heard of, Heard when any
	// report was; zero: never.
	Began, Saved, Heard time.Time
	// Save is how long its last save took, Start how long its last start, from Running to the first new step;
	// 0 where that is not known. Grace is how long it may take to end.
	Save, Start, Grace time.Duration
	// Optimum is the time between two saves with which it loses least, 0 where that is not known. AskedAhead is
	// when it was last asked to save and to train on; zero: never.
	Optimum    time.Duration
	AskedAhead time.Time
	// AskFailed is true where it was asked to save and the ask did not end in a commit.
	AskFailed bool
	// NextSave is when it is expected to save by itself, End when it is expected to finish; zero where that is
	// not known.
	NextSave, End time.Time
}

// Waiting is a gang that waits for room.
type Waiting struct {
	Ref
	Value int32
	// Since is when it took its place in the queue. Blocked is since when it has been known to lack room.
	Since, Blocked time.Time
	// MaxDelay is the longest that it may be made to wait for others' saves.
	MaxDelay time.Duration
	// Needs of each of its roles that lacks ranks.
	Needs []Need
	// Within are the names of the budgets that all these ranks must fit into together, beside their nodes.
	Within []string
}

// Need is the ranks of one role that are not placed.
type Need struct {
	Ranks int64
	// Requests of one rank, all above 0.
	Requests scheduler.Amounts
	// Nodes that accept the ranks, by name.
	Nodes []string
}

// Node is what a node has left; or a budget, such as a queue's quota, which names only what it limits. All of
// them have different names.
type Node struct {
	Name string
	Free scheduler.Amounts
}

// Policy is what the admins have set.
type Policy struct {
	// MinRun is how long a gang runs before it is preempted, if others can be.
	MinRun time.Duration
	// LossCap bounds the unsaved work that counts for a gang.
	LossCap time.Duration
	// UnknownStart stands for the start of a gang that never trained a step.
	UnknownStart time.Duration
	// MeanRun stands for the time between two interruptions of a gang that never had one.
	MeanRun time.Duration
	// Heartbeat is the longest time that a command takes to reach a gang.
	Heartbeat time.Duration
	// Patience is how long a gang lacks room before others are asked to make some: most find it by themselves.
	Patience time.Duration
	// MaxPlans is how many plans may be outstanding.
	MaxPlans int
	// MaxRounds is how often room is made for one attempt, where others take it first.
	MaxRounds int
	// Placing is how long a scheduler may take to use the room.
	Placing time.Duration
}
