package forecast

import "time"

// MaxResources is the number of resources that a play counts.
const MaxResources = 8

// Amounts of resources, by an index that the caller assigns.
type Amounts [MaxResources]int64

// Unknown is why the start of a gang has no time.
type Unknown string

const (
	// NoEndKnown: the start depends on a gang whose end is unknown, or on pods that are no TrainingJobs.
	NoEndKnown Unknown = "NoEndKnown"
	// TooFarAhead: the gang does not start within the horizon, or is not among those considered.
	TooFarAhead Unknown = "TooFarAhead"
	// QueueUnknown: the operator does not know what the gang's queue may use.
	QueueUnknown Unknown = "QueueUnknown"
	// NotComplete: the operator does not know everything that the nodes hold.
	NotComplete Unknown = "NotComplete"
	// SchedulerDecides: the start depends on decisions that the play does not model.
	SchedulerDecides Unknown = "SchedulerDecides"
	// NotCalibrated: too few forecasts of the kind held, or were judged, or the interval is too wide.
	NotCalibrated Unknown = "NotCalibrated"
)

// Snapshot is the input of a play. It is read-only.
type Snapshot struct {
	Now time.Time
	// Nodes by their free amounts. Negative amounts count as 0.
	Nodes []Amounts
	// Sets of nodes that needs refer to, by ascending index.
	Sets [][]int32
	// Quotas that gangs use besides nodes.
	Quotas []Quota
	// Lanes are the queues. Gangs of all lanes contend for the nodes.
	Lanes []Lane
	Gangs []Gang
	// Hits of earlier forecasts, by kind.
	Hits map[Kind]Hits
}

// Quota limits what gangs hold together.
type Quota struct {
	// Name for users: that of the queue, or of a ResourceQuota.
	Name string
	// Free amounts, of the resources that it limits.
	Free    Amounts
	Limited [MaxResources]bool
}

// Lane is a queue of a scheduler, which serves by value and age.
type Lane struct {
	Scheduler string
	// Spread of the lengths of its gangs that are not measured: the standard deviation of their logarithm.
	Spread float64
	// Strict: the lane stops at the first gang that does not fit. Otherwise later gangs overtake it.
	Strict bool
}

// Gang runs or waits.
type Gang struct {
	Namespace, Name string
	GPUs            int64
	Length          Length
	// Running gangs hold amounts of nodes. All others wait.
	Running bool
	Holds   []Hold
	// Needs of a waiting gang: all of them start together.
	Needs []Need
	// Uses of quotas, that a running gang has and a waiting one needs.
	Uses []Use
	// Admitted: a waiting gang has its quota already, and gives it back when it ends.
	Admitted bool
	// Lane of the gang; and the place of a waiting one: a higher Value goes first, then the earlier Since.
	Lane  int
	Value int32
	Since time.Time
	// Unknown is why a waiting gang's start cannot be computed. The play still counts what it takes.
	Unknown Unknown
}

// Hold is what a gang holds on one node.
type Hold struct {
	Node    int32
	Amounts Amounts
}

// Need is ranks that request the same.
type Need struct {
	Ranks    int64
	Requests Amounts
	// Set of the nodes that can take them.
	Set int
}

// Use of a quota.
type Use struct {
	Quota   int
	Amounts Amounts
}

// Limits of a play.
type Limits struct {
	// Horizon after which the play stops.
	Horizon time.Duration
	// Considered is the number of waiting gangs that get a time, in the order of service.
	Considered int
	// Samples is the number of plays with drawn lengths, MinSamples to MaxSamples.
	Samples int
}

// What a gang waits for.
type What string

const (
	// Ends: another gang's end frees capacity.
	Ends What = "Ends"
	// GoesFirst: another waiting gang is served first.
	GoesFirst What = "GoesFirst"
	// QuotaFree: a quota must become free.
	QuotaFree What = "Quota"
	// RoomFree: nodes must become free that no gang holds.
	RoomFree What = "Room"
)

// MaxBehind is the number of things that a start names.
const MaxBehind = 4

// Behind is one thing that a gang waits for.
type Behind struct {
	What What
	// Name of the gang or quota. Empty for a gang of another namespace.
	Name string
	// Time when it happens; zero: unknown.
	Time time.Time
	// GPUs of the gang.
	GPUs int64
	// Basis of Time; Missing is why it is unknown.
	Basis   Basis
	Missing Missing
}

// Interval in which a gang probably starts.
type Interval struct {
	// Earliest, Time and Latest are the 10%, 50% and 90% points.
	Earliest, Time, Latest time.Time
	// Spread of the gang's lane when it was made.
	Spread float64
}

// Start is the forecast for a waiting gang.
type Start struct {
	// Gang is its index in the snapshot.
	Gang int
	// Position within its lane, from 1; 0 if the gang is not considered: it would change with each start.
	Position int
	// Time of the start: the median; zero if Unknown is set.
	Time time.Time
	// Earliest is a time before which the gang hardly starts; zero: unknown.
	Earliest time.Time
	// Latest is the 90% point; zero if Unknown is set. Earliest is then the 10% point.
	Latest time.Time
	// Hits of earlier forecasts of the kind, unless the gang has no interval.
	Hits Hits
	// Given is the interval that is judged later; nil: there is none. It is also there if Unknown is
	// NotCalibrated, because only judged forecasts calibrate.
	Given *Interval
	// End of the run after that start; zero: unknown.
	End     time.Time
	Unknown Unknown
	Behind  []Behind
}
