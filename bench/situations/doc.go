// Package situations plays preemptions on real schedulers. It keeps a local cluster full of gangs of low
// priority whose trainers are simulated, lets one of high priority come, and records who was ended for it.
// Then all of them and some others are replaced by new ones, and the next one comes.
//
// It answers two questions. Whom do the schedulers take, where bench/sim says whom they take: it records who
// ran where, for how long and with how much unsaved, and bench/sim compares that with its models. And what is
// saved, and how long is waited, where the operator has gangs save and make room instead: every other gang
// that comes is one for which it does.
//
//	ground.go       a cluster, its operator and its trainers
//	fill.go         gangs of low priority until nothing more fits
//	situation.go    one preemption: before, and after
//	jobs.go         what a job looks like, and what is read of it
//	calibration.go  situations one after the other, for the models
//	comparison.go   the same in two ways; outcome.go what came of them: pure; report.go the page
package situations
