// Package servers answers one question: with which command line, files and objects does each program of a
// local cluster run? The functions that make command lines are pure: a [Config] in, a process out.
//
// A new gang scheduler or add-on is an entry in package components, a file here that returns an [Extension],
// and an entry in [Schedulers] or [AddOns].
package servers
