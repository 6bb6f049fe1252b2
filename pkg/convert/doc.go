// Package convert answers one question: which TrainingJob is the same training as a job of another system?
//
//	file → Split → Document → Convert → TrainingJob, companions (a claim, a ConfigMap), warnings
//
// Each kind of source has a file with its types, which are no more than what its documents hold, and one
// function from a decoded document to a job. Shared code is in:
//
//	document.go, decode.go   bytes → documents → types, strictly
//	kubeflow.go              what Kubeflow's kinds have in common
//	mpi_launcher.go          what starts the processes of MPI
//	sbatch*.go               scripts for sbatch, which are no objects
//	template.go, restarts.go what a pod template and the roles' restart policies must be here
//	target.go                what the TrainingJob has no field for, in one place
//	jobset*.go               JobSets, and Jobs (batchjob.go) and TrainJobs (trainjob*.go) as JobSets
//	runtimes.go              training runtimes, which the first pass over all documents collects
//	foreign.go               objects that are not converted: which of them are refused
//
// The result says whatever the other system would do by default. Whatever it cannot say is a warning that
// names the field: nothing is dropped silently. A document that is ambiguous or that the TrainingJob API
// would refuse is an error that names the field.
//
// The package is pure: it reads no file, calls no API and knows no clock, so a document always gives the
// same result. docs/migrate.md has a table for each source.
package convert
