// Package spec answers one question: what does the spec of a TrainingJob mean? It fills in defaults, puts the
// roles in rank order, names what is made for a job, and places its checkpoints.
//
// Every function is pure and reads the job alone. The package knows no pod of the cluster, no scheduler and
// no clock, and it may be given a spec that is invalid: package validation says what is wrong with one.
package spec
