// Package validation finds errors in the spec of a TrainingJob. Every error names the field and the
// correction.
//
// It repeats the invariants of the CRD (api/v1alpha1/rules.yaml) for clusters that do not enforce them, and
// adds checks that CEL cannot do: the job's labels and annotations, and what every API server refuses in a
// pod. test/api compares the two against a real API server, case by case.
//
// Every function is pure and reads the job alone. The package uses neither the cluster nor the job's history:
// the CRD decides which changes a running job allows. The order of errors is fixed, because a condition
// of the job has all of them.
package validation
