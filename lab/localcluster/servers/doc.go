// Package servers answers one question: with which command line, files and objects does each program of a
// local cluster run? The functions that make command lines are pure: a [Config] in, a process out.
//
// A new gang scheduler is an entry in package components, a file here that returns a [Scheduler], and an
// entry in [Schedulers].
package servers
