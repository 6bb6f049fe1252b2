// Package validation answers one question: what is wrong with the spec of a TrainingJob? Every error names
// the field, and says what to change.
//
// It repeats the invariants of the CRD (api/v1alpha1/rules.yaml) for clusters that do not enforce them, and
// adds what CEL cannot see: the job's labels and annotations, and what every API server refuses in a pod.
// test/api compares the two against a real API server, case by case.
//
// Every function is pure and reads the job alone. The package knows neither the cluster nor the job's past:
// which changes a running job allows is for the CRD to say. The order of errors is fixed, because a condition
// of the job shows them all.
package validation
