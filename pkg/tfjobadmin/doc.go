// Package tfjobadmin answers one question: what does a document of TFJob-admin say, and which TrainingJob is
// it?
//
// TFJob-admin is an HTTP API for TensorFlow jobs. Its document contradicts itself: names are spelt in two
// ways, lists stand in objects, numbers are texts, and a job is flat here and nested there. All of this is
// read, and one form of it is written.
//
//	JSON ─ Read ─▶ Request ─ Apply ─▶ Spec ─ Setup.Job ─▶ TrainingJob ─ Describe ─▶ Document ─▶ JSON
//
//	read*.go       JSON → Request: what a client says, and where it says it
//	document.go    the form that is written
//	paths.go       which claim a directory lies on
//	job.go         Spec → TrainingJob, for one runtime and the mounts of one partition
//	describe.go    TrainingJob → Document
//	merge.go       what a changed Spec changes of a TrainingJob that others have changed, too
//
// Invariants:
//   - What Read cannot understand is a Problem that names the field as the document spells it, and what to
//     do. Nothing is dropped without being listed in the Request.
//   - Describe after Job gives the same Spec, and Job after Describe the same TrainingJob.
//   - The package is pure: it calls no API and knows no clock.
//
// Both pkg/convert and pkg/server/tfjob use it, so that a document means the same to the plugin and to the
// server. docs/tfjob.md describes the dialect.
package tfjobadmin
