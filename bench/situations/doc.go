// Package situations plays preemptions on real schedulers. It keeps a local cluster full of gangs of low
// priority whose trainers are simulated, submits one of high priority, and records its victims. Then it
// replaces all of them and some others, and submits the next one.
//
// It answers two questions. Which victims do the schedulers choose? It records the gangs with their nodes,
// run times and unsaved work, and bench/sim compares the choice with its models. How much work is saved, and
// how long do preemptors wait, if the operator preempts instead? The operator preempts for every second gang
// of high priority.
//
//	ground.go       a cluster, its operator and its trainers
//	fill.go         gangs of low priority until nothing more fits
//	situation.go    one preemption: before, and after
//	jobs.go         what a job looks like, and what is read of it
//	calibration.go  situations one after the other, for the models
//	comparison.go   the same in two ways; outcome.go what came of them: pure; report.go the page
package situations
