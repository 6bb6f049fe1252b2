// Package conformance answers one question: does the operator keep its promises on every scheduler that it
// supports, also when it is killed at any of its writes? It observes the operator through the API alone.
//
//	Scenario (data) ──▶ Env: a namespace, nodes, an operator
//	                    in this process, a recorder
//	                      │
//	                      ├──▶ the scenario's expectations
//	                      └──▶ invariants of the whole history
//
// A scenario is a list of steps that act or wait until something is true of the objects in the API server. A
// scheduler may lack a Capability; testdata/capabilities.yaml gives the reason, and scenarios that need it
// are listed as not applicable (testdata/scenarios-*.txt is compared with what ran). Every scenario runs a
// second time with the operator killed and restarted in the middle, and must come to the same end. Those in
// which the operator preempts take minutes: what make test leaves out of them (brokerInShort), make
// test-preemption plays.
//
// In scenarios about checkpoints the ranks are simulated trainers (lab/simtrainer), which report to the
// operator's real report server with tokens of their own. A proxy stands in front of it across restarts of
// the operator; a killed operator neither receives nor answers.
//
// "No rank is bound" is asserted only after the scheduler has been seen to judge the gang (dialect.judged):
// the absence of a binding alone proves nothing.
//
// Everything that a scenario observes is a History, ordered by the API server's revisions. Violations is a
// pure function of it, so the rules are tested without a cluster.
//
// The suite is tested itself: on each mutant of test/fakescheduler the scenario that testdata/mutants.txt
// names must fail.
package conformance
