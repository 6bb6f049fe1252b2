package liveness

// rules is a set of the rules below. All of them hold, except in tests that show what a rule is needed for.
type rules uint64

const (
	trainersOnly   rules = 1 << iota // only ranks that train are watched
	reportersOnly                    // of them, only ranks that have named a step or a phase count as idle
	anyProgress                      // the progress of one rank refutes a hang
	enoughBeats                      // less than 80% of the ranks: unknown
	ownIdleness                      // half of the ranks have reported an idle time of the limit
	sinceRunning                     // the gang is idle since phase Running at the earliest
	firstStepLimit                   // limits by phase
	savingLimit
	longPhaseLimit
	stepLimit     // 20 steps
	startLimit    // 1.5 times the time to the first step
	pauseLimit    // 3 times the longest pause
	atMostLong    // learnt limits are at most that of a long phase
	unlabelled    // an hour if no evaluation is labelled
	intervalLimit // 4 intervals
	fewSuspects   // more than max(1, 10%) ranks are no suspects
	silentRanks
	silentInTime // silence is strong evidence only if it began with the hang
	behindRanks
	freshSteps // only steps in beats that were sent after the gang stopped are compared
	stoppedRanks
	diskRanks
	whereRanks
	loadRanks
	slowSteps
	busyRanks

	onlyAct // bounds of restarts
	confirmed
	leaderTrusted
	reportRefutes
	activityDelays
	delayEnds
	maxRestarts
	vainRestarts
	sharedCause
	restartRate

	pausesHalve
	nodesNamedTwice
	fewNodes

	pastRules // one beyond the last rule
	allRules  = pastRules - 1
)

// has reports whether a rule holds.
func (r rules) has(rule rules) bool { return r&rule != 0 }
