// Package conformance answers one question: does the operator keep its promises, seen through the API alone,
// on every scheduler that it speaks to, and when it is killed at any of its writes?
//
//	Scenario (data: name, claim, needs, steps) ──▶ Env: a namespace, nodes, an operator in this process, a recorder
//	                                                 │
//	                  the scenario's own claims ◀────┤
//	                  invariants of the history ◀────┘ watched from the first object to the last
//
// A scenario is a list of steps that wait for something to be true of the objects in the API server; what a
// scheduler cannot do is an Capability that it lacks, with the reason, and the scenarios that need it are
// listed as not applicable (testdata/scenarios-*.txt is compared with what ran). Every scenario runs a second
// time with the operator killed and started again in the middle, and must come to the same end.
//
// Where checkpoints are the matter, the ranks are simulated trainers (lab/simtrainer), which report to the
// operator's real report server with tokens of their own. A proxy stands before it for all lives of the
// operator: the dead neither hear nor answer.
//
// "No rank is bound" is claimed only after the scheduler is shown to have judged the gang (Dialect.Judged):
// silence is no proof.
//
// Everything that a scenario saw is a History, in the order of the API server's own revisions. Violations is
// a pure function of it, so that the rules can be tested without a cluster.
//
// The suite is itself tested: each named mutant of test/fakescheduler must fail the scenario that
// testdata/mutants.txt names.
package conformance
