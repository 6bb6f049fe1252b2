// Package gates holds the tests by which a benchmark may fail CI. They look at counters only: absolute times
// depend on the machine, and on what else it does.
//
//	compared_cluster_test.go    a small benchmark from beginning to end, and what the operator writes in it
//	complexity_cluster_test.go  how often the operator does what for each of 100 and of 1,000 jobs
//	work_test.go                that comparison, as a function of two profiles
package gates
