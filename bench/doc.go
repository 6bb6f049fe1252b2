// Package bench is the benchmark harness of the TrainingJob operator. It drives the operator as its users do, through the API
// alone, beside other ways of running the same gangs on the same scheduler in the same run: absolute times are not stable from
// machine to machine, ratios and counters are.
//
//	stack/    ways to run gangs: the operator, or the same groups and pods written raw
//	measure/  what is measured: pods as a watch sees them, API writes as the audit log has them
//	burst/    many gangs at once that all fit: how much does the operator cost over its scheduler?
package bench
