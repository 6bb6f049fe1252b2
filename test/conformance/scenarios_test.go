//go:build cluster

package conformance

import (
	"k8s.io/utils/ptr"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Scenario is one promise of the operator.
type Scenario struct {
	name string
	// promise in one sentence, logged when the scenario is played.
	promise string
	needs   []Capability
	// brokers: the operator preempts.
	brokers bool
	steps   []Step
}

// scenarios in the order in which they run. The cluster has 4 nodes with 8 GPUs each.
func scenarios() []Scenario {
	return append([]Scenario{
		wholeGangWait, twoGangsOf60Percent, priorityOrder, priorityWins, priorityAtRest, priorityAfterAbsence,
		submissionOrder, smallPassesLarge, preemptAndReturn, keepsItsPlace, belowReplicas,
		eachRoleHasItsShare, refusesWhatItCannotSay, scheduleTimeout, suspendAndResume, suspendedFromTheStart,
		deletionLeavesNothing, heldDeletion, lostRank, failedRank, queueQuota,
	}, brokerScenarios()...)
}

var wholeGangWait = Scenario{
	name: "whole-gang-wait",
	promise: "a gang of which one rank does not fit starts no rank, keeps its place in the queue, and runs as " +
		"a unit once it fits",
	steps: []Step{
		submit(jobSpec{name: "filler", ranks: 1, gpus: 8}),
		until("filler", runsWhole(1)),
		submit(jobSpec{name: "gang", ranks: 4, gpus: 8}),
		judged("gang"),
		until("gang", waits(), attempt(1)),
		neverBound("gang"),
		now("gang", waits(), holds(0), hasOneGroup()),
		now("filler", runsWhole(1), attempt(1)), // its priority is equal, so it is not preempted
		complete("filler"),
		until("filler", is(v1alpha1.PhaseSucceeded), holds(0), hasNoGroup()),
		until("gang", runsWhole(4), holds(32)),
		named("gang"),
		now("gang", attempt(1), spent(0, 0), neverFailed(), hasOneGroup()),
	},
}

var twoGangsOf60Percent = Scenario{
	name:    "two-gangs-of-60-percent",
	promise: "of two gangs that each need 60% of the GPUs one runs, and the other holds no GPU until it runs",
	steps: []Step{
		submit(jobSpec{name: "a", ranks: 5, gpus: 4}),
		submit(jobSpec{name: "b", ranks: 5, gpus: 4}),
		untilOne([2]string{"a", "b"}, []Expectation{runsWhole(5)}, func(first, other string) []Step {
			return []Step{
				judged(other),
				neverBound(other),
				now(other, waits(), holds(0), attempt(1)),
				now(first, runsWhole(5), holds(20), attempt(1)),
				complete(first),
				until(first, is(v1alpha1.PhaseSucceeded), holds(0), hasNoGroup()),
				until(other, runsWhole(5), holds(20), attempt(1), spent(0, 0)),
				complete(other),
				until(other, is(v1alpha1.PhaseSucceeded), holds(0), hasNoGroup()),
			}
		}),
	},
}

// preemptAndReturn plays the cycle in which crash_test.go kills the operator at each of its writes.
var preemptAndReturn = Scenario{
	name: "preempt-and-return",
	promise: "a preempted gang releases everything, spends no restart, and returns as a unit in its next " +
		"attempt",
	steps: cycle(jobSpec{name: "low", ranks: 4, gpus: 8, class: low},
		jobSpec{name: "high", ranks: 2, gpus: 8, class: high}),
}

// cycle in which victim runs, is preempted by winner, waits whole, and runs again. They do not fit together.
func cycle(victim, winner jobSpec) []Step {
	return []Step{
		submit(victim),
		until(victim.name, runsWhole(victim.ranks), attempt(1)),
		named(victim.name),
		submit(winner),
		until(winner.name, runsWhole(winner.ranks)),
		until(victim.name, is(v1alpha1.PhaseQueued), attempt(2), holds(0),
			condition(v1alpha1.ConditionPreempted, "True")),
		judged(victim.name),
		neverBound(victim.name),
		now(victim.name, waits(), holds(0), spent(0, 1)),
		complete(winner.name),
		until(winner.name, is(v1alpha1.PhaseSucceeded), holds(0), hasNoGroup()),
		until(victim.name, runsWhole(victim.ranks), attempt(2), condition(v1alpha1.ConditionPreempted, "False")),
		named(victim.name),
		now(victim.name, spent(0, 1), neverFailed(), passed(v1alpha1.PhaseDraining)),
		now(winner.name, attempt(1), spent(0, 0), neverFailed()),
	}
}

var belowReplicas = Scenario{
	name:    "min-available-below-replicas",
	promise: "a gang starts when minAvailable of its ranks fit, and the others join as capacity allows",
	needs:   []Capability{AddsRanks},
	steps: []Step{
		submit(jobSpec{name: "filler", ranks: 2, gpus: 8, class: top}),
		until("filler", runsWhole(2)),
		submit(jobSpec{name: "elastic", ranks: 4, gpus: 8, minAvailable: 2}),
		until("elastic", is(v1alpha1.PhaseRunning), gang("2/4"), holds(16)),
		submit(jobSpec{name: "rigid", ranks: 3, gpus: 8}),
		judged("rigid"),
		neverBound("rigid"),
		remove("rigid"),
		complete("filler"),
		until("elastic", runsWhole(4), holds(32)),
		now("elastic", attempt(1), spent(0, 0), neverFailed()),
	},
}

// Two gangs of four whose first rank needs a node of its own.
var (
	led = jobSpec{name: "led", minAvailable: 2, roles: []roleSpec{{v1alpha1.RoleMaster, 1, 8},
		{v1alpha1.RoleWorker, 3, 2}}}
	// The fake and Volcano try ranks by name; here the ranks that fit come first.
	judgedLast = jobSpec{name: "evaluated", minAvailable: 2,
		roles: []roleSpec{{v1alpha1.RoleWorker, 1, 8}, {v1alpha1.RoleEvaluator, 3, 2}}}
)

var eachRoleHasItsShare = Scenario{
	name: "each-role-has-its-share",
	promise: "a gang with minAvailable below its ranks does not start without its leader, although enough " +
		"other ranks fit",
	needs: []Capability{CountsRoles},
	steps: []Step{
		submit(jobSpec{name: "filler", ranks: 4, gpus: 5, class: top}),
		until("filler", runsWhole(4)),
		// 3 GPUs are free on every node, 12 together: more than each minimum needs, but its first rank fits
		// nowhere.
		submit(led),
		judged("led"),
		neverBound("led"),
		now("led", waits(), holds(0)),
		remove("led"),
		nothingLeft("led"),
		submit(judgedLast),
		judged("evaluated"),
		// That verdict may only cover the ranks that were created first. A scheduler that binds a later rank has
		// judged all of them.
		until("evaluated", hasPods(4)),
		submit(jobSpec{name: "fits", ranks: 1, gpus: 1}),
		until("fits", runsWhole(1)),
		neverBound("evaluated"),
		now("evaluated", waits(), holds(0)),
		complete("filler"),
		until("evaluated", runsWhole(4), attempt(1), spent(0, 0)),
	},
}

var refusesWhatItCannotSay = Scenario{
	name: "refuses-what-it-cannot-say",
	promise: "a job that its scheduler cannot express fails with the field's name, and the operator creates " +
		"nothing for it",
	needs: []Capability{RejectsRoles},
	steps: []Step{
		submit(led),
		until("led", is(v1alpha1.PhaseFailed), reason(v1alpha1.ReasonInvalidSpec)),
		now("led", hasNoPods(), hasNoGroup(), neverFailed()),
	},
}

var scheduleTimeout = Scenario{
	name: "schedule-timeout",
	promise: "a gang that is not placed in time gives up its place and its pods, and queues again after a " +
		"backoff",
	steps: []Step{
		submit(jobSpec{name: "filler", ranks: 4, gpus: 8, class: top}),
		until("filler", runsWhole(4)),
		// time enough to see it judged on a busy machine
		submit(jobSpec{name: "hasty", ranks: 2, gpus: 8, timeout: 8}),
		judged("hasty"),
		neverBound("hasty"),
		until("hasty", is(v1alpha1.PhaseRestarting), attempt(2), reason(v1alpha1.ReasonScheduleTimeout),
			hasNoPods(), hasNoGroup()),
		complete("filler"),
		until("hasty", runsWhole(2), attempt(2)), // 10 s later
		now("hasty", spent(0, 0), neverFailed(), holds(16)),
	},
}

var suspendAndResume = Scenario{
	name:    "suspend-and-resume",
	promise: "a suspended gang holds nothing, whether it ran or waited, and resumes as a unit",
	steps: []Step{
		submit(jobSpec{name: "runner", ranks: 4, gpus: 8}),
		until("runner", runsWhole(4)),
		submit(jobSpec{name: "waiter", ranks: 3, gpus: 8}),
		judged("waiter"),
		suspend("waiter", true),
		until("waiter", is(v1alpha1.PhaseSuspended), hasNoPods(), hasNoGroup()),
		suspend("runner", true),
		until("runner", is(v1alpha1.PhaseSuspended), hasNoPods(), hasNoGroup(), holds(0)),
		suspend("waiter", false), // the GPUs of the runner are free for others
		until("waiter", runsWhole(3), spent(0, 0)),
		complete("waiter"),
		until("waiter", is(v1alpha1.PhaseSucceeded)),
		suspend("runner", false),
		until("runner", runsWhole(4), attempt(2), spent(0, 0), condition(v1alpha1.ConditionSuspended, "False")),
	},
}

var suspendedFromTheStart = Scenario{
	name:    "suspended-from-the-start",
	promise: "the operator creates nothing for a job that is submitted suspended until it is resumed",
	steps: []Step{
		submit(jobSpec{name: "later", ranks: 2, gpus: 8, suspended: true}),
		until("later", is(v1alpha1.PhaseSuspended)),
		// by then the operator and the scheduler have processed the suspended job
		submit(jobSpec{name: "witness", ranks: 1, gpus: 8}),
		until("witness", runsWhole(1)),
		now("later", is(v1alpha1.PhaseSuspended), hasNoPods(), hasNoGroup()),
		suspend("later", false),
		until("later", runsWhole(2), attempt(1), spent(0, 0)),
	},
}

var deletionLeavesNothing = Scenario{
	name: "deletion-leaves-nothing",
	promise: "a deleted job leaves neither pod, group nor Service, whether it ran or waited, and its name " +
		"can be used again",
	steps: []Step{
		submit(jobSpec{name: "runner", ranks: 4, gpus: 8}),
		until("runner", runsWhole(4)),
		submit(jobSpec{name: "waiter", ranks: 3, gpus: 8}),
		judged("waiter"),
		remove("waiter"),
		nothingLeft("waiter"),
		remove("runner"),
		submit(jobSpec{name: "runner", ranks: 3, gpus: 8}), // at once, while the pods of the first job still exist
		until("runner", runsWhole(3), ownsItsPods(), attempt(1), spent(0, 0)),
		remove("runner"),
		nothingLeft("runner"),
	},
}

var heldDeletion = Scenario{
	name: "held-deletion",
	promise: "a deleted job that another controller's finalizer holds stops its ranks, and another gang runs " +
		"in its place",
	steps: []Step{
		submit(jobSpec{name: "runner", ranks: 4, gpus: 8}),
		hold("runner", true),
		until("runner", runsWhole(4)),
		submit(jobSpec{name: "waiter", ranks: 3, gpus: 8}),
		judged("waiter"),
		neverBound("waiter"),
		remove("runner"),
		until("waiter", runsWhole(3), attempt(1)),
		until("runner", hasNoPods(), hasNoGroup()),
		hold("runner", false),
		nothingLeft("runner"),
	},
}

var lostRank = Scenario{
	name:    "lost-rank",
	promise: "a gang that loses one rank stops and restarts as a unit, without a cost to backoffLimit",
	steps: []Step{
		submit(jobSpec{name: "gang", ranks: 3, gpus: 8, backoffLimit: ptr.To[int32](0)}),
		until("gang", runsWhole(3)),
		deletePod("gang-worker-1"),
		until("gang", attempt(2), spent(0, 1)),
		until("gang", runsWhole(3), attempt(2), spent(0, 1), neverFailed(), holds(24)),
		named("gang"),
	},
}

var failedRank = Scenario{
	name: "failed-rank",
	promise: "a failed rank restarts the whole gang and spends one restart; the next one over backoffLimit " +
		"fails the job",
	steps: []Step{
		submit(jobSpec{name: "gang", ranks: 3, gpus: 8, backoffLimit: ptr.To[int32](1),
			cleanPods: v1alpha1.CleanPodNone}),
		until("gang", runsWhole(3)),
		exit("gang-worker-1", 3),
		until("gang", attempt(2), spent(1, 0), lastFailed("gang-worker-1", 3), holds(0)),
		until("gang", runsWhole(3), attempt(2)), // 10 s later
		exit("gang-worker-0", 4),
		until("gang", is(v1alpha1.PhaseFailed), reason(v1alpha1.ReasonBackoffLimit),
			lastFailed("gang-worker-0", 4), holds(0), hasNoGroup()),
		now("gang", spent(1, 0), attempt(2)),
	},
}

var queueQuota = Scenario{
	name:    "queue-quota",
	promise: "a gang that exceeds its queue's GPUs waits as a unit, although the nodes could hold it",
	needs:   []Capability{LimitsQueues},
	steps: []Step{
		makeQueue("conformance-small", "16"),
		submit(jobSpec{name: "first", ranks: 2, gpus: 4, queue: "conformance-small"}),
		until("first", runsWhole(2)),
		submit(jobSpec{name: "second", ranks: 3, gpus: 4, queue: "conformance-small"}),
		judged("second"),
		neverBound("second"),
		now("second", waits(), holds(0)),
		complete("first"),
		until("second", runsWhole(3), attempt(1)),
	},
}
