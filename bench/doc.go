// Package bench is the benchmark harness of the TrainingJob operator. It drives the operator as users do,
// through the API alone, and compares it with other ways of running the same gangs on the same scheduler in
// the same run. Absolute times differ from machine to machine; ratios and counters do not.
//
//	stack/     ways to run gangs: the operator, or the same groups and pods written raw
//	workload/  which gangs arrive when, how long they train, and what goes wrong meanwhile
//	measure/   what is measured: pods as a watch sees them, API writes from the audit log
//	result/    what a benchmark leaves behind, as data
//	stats/     what may be claimed from the times of a benchmark
//	report/    what the results say: report.md, plots, a summary for the terminal
//	burst/     many gangs at once that all fit: what does the operator add to the scheduler's time?
package bench
