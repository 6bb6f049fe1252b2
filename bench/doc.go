// Package bench is the benchmark harness of the TrainingJob operator: see README.md for how to use it. It
// drives the operator as users do, through the API alone, and compares it with other ways of running the same
// gangs on the same scheduler in the same benchmark. Absolute times differ from machine to machine; ratios
// and counters do not.
//
// Read the packages from the bottom up:
//
//	workload/  which gangs arrive when, and what goes wrong: pure
//	result/    what a benchmark leaves behind, as data
//	timeline/  what became of the gangs, given what a watch saw; the trainers: pure
//	measure/   pods as a watch sees them, API writes from the audit log, /proc
//	operator/  the operator as a process
//	stack/     ways to run gangs
//	play/      one workload on one stack
//	rounds/    all workloads on all stacks, in an order that is fair
//	stats/     what may be claimed from noisy times: pure
//	report/    results as Markdown and plots: pure but for the files
//	scale/     what size costs: a benchmark of its own, of the operator alone
//	history/   how long a server's history takes to read: another
//	board/     what the pages for browsers cost their readers: another
package bench
