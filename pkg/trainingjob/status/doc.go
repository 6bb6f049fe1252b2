// Package status writes what users read of a job: the message, the conditions, the reason why the job waits,
// and its preemption plan.
//
// Every function reads an observation.Observation and writes into a decision.Plan. Times in a status have
// whole seconds, messages contain no ages, and nothing is written when nothing changed.
package status
