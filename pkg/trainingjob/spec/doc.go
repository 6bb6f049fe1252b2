// Package spec interprets the spec of a TrainingJob. It fills in defaults, puts the roles in rank order,
// names the objects of a job, and places its checkpoints.
//
// Every function is pure and reads the job alone. The package uses no pod of the cluster, no
// scheduler and no clock. It accepts invalid specs: package validation returns their errors.
package spec
