// Package calibrate answers one question: whom do the real schedulers take, where bench/sim says whom they
// take? It keeps a local cluster full of gangs of low priority whose trainers are simulated, lets one of high
// priority come, and records who ran where, for how long and with how much unsaved, and who was ended for it.
// Then all of them and some others are replaced by new ones, and the next one comes.
//
//	cluster.go    a cluster, its operator and its trainers
//	fill.go       gangs of low priority until nothing more fits
//	situation.go  one preemption: before, and after
//	jobs.go       what a job looks like, and what is read of it
//	run.go        situations one after the other
//
// It decides nothing: bench/sim compares the record with its model.
package calibrate
