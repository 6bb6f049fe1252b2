// Package bench is the benchmark harness of the TrainingJob operator. It drives the operator as users do,
// through the API alone, and compares it with other ways of running the same gangs on the same scheduler in
// the same run. Absolute times differ from machine to machine; ratios and counters do not.
//
//	stack/    ways to run gangs: the operator, the same groups and pods written raw, and other operators
//	measure/  what is measured: pods as a watch sees them, API writes from the audit log
//	burst/    many gangs at once that all fit: what does the operator add to the scheduler's time?
package bench
