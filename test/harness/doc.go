// Package harness gives tests a World: a real control plane with real schedulers, the TrainingJob API, and the operator in this
// process with exactly the rights that ship with it. A test plays in a Place of it: a namespace, with nodes of its own where
// it wants some, so that tests run beside each other.
//
// Everything waits by condition; nothing is read from the operator but what the API server has.
package harness
