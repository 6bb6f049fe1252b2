// Package quotas answers one question: do the files in examples/quotas do on a real scheduler what they say?
//
// Each test applies the files of examples/quotas/<scheduler> unchanged, submits jobs as the teams would, and
// reads the outcome from the API server: which jobs run and on which nodes, which wait and why, which were
// preempted, and that a gang that does not run occupies nothing.
package quotas
