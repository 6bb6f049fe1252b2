// Package scale answers one question: how large can a cluster and its queue become, and what does that cost?
//
// A step fills a cluster with gangs and its queue with jobs that wait, leaves it alone, lets gangs preempt
// others, kills the operator and then the leader of two, and measures each of these phases. Steps of several
// sizes give the exponents by which the costs grow.
//
//	size.go       how large a step is
//	phases.go     what happens in a step; step.go measures it
//	watch.go      what is seen of jobs and ranks; ranks.go what that means: pure
//	cluster.go    where it is played: a local cluster, or a simulated one
//	benchmark.go  all steps
//	result.go     what is left of them, as data; costs.go what the report tells of it
//	fit.go        how a cost grows: pure
//	report.go     the page; plots.go its curves
package scale
