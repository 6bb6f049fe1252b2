// Package harness gives tests a Cluster: a real control plane with real schedulers, the TrainingJob API, and
// an operator in the test's process with exactly the rights that ship with it. A test runs in a Namespace of
// the cluster, with nodes of its own where it wants them, so that tests run in parallel.
//
// Every wait is for a condition. Tests learn about the operator only through the API server.
package harness
