// Package corpus replays invalid and hostile TrainingJobs against everything that judges them, and holds the
// answers against those in testdata, a file for each subject:
//
//	crd        the CRD's schema and rules alone
//	policies   the same with deploy/admission, deploy/policies and deploy/operator/warnings.yaml
//	operator   the operator with admission switched off: nothing is ever made for a job that it refuses
//	server     crd and policies again, on a real API server (tag cluster)
//
// A way is a function from a case to an answer, in the table ways; whatever else reads TrainingJobs, or
// writes them as pkg/convert does, is one more row there.
//
// The package counts what the cases hit: every rule of the CRD, every validation of every policy and every
// row of testdata/threats.yaml must be hit, or a test fails.
package corpus
