// Package reasons answers one question: does a waiting job show the one reason why, on real schedulers?
//
// Each case provokes one reason in a namespace of its own, on nodes of its own (a label that its jobs select
// and a taint that they tolerate), so that all cases run in parallel in one cluster with one operator. It
// reads status.scheduling.blocker, the column REASON as kubectl gets it, the condition Admitted and the one
// event. Then it makes the operator reconcile again and checks that nothing is repeated. Where possible it
// removes the cause and checks that the reason is gone.
//
// The status of a job that does not fit also names possible victims (preemption_test.go), in a separate
// cluster: its operator is configured to say so.
//
// Fake nodes pull no images, so the test itself simulates a kubelet that fails to.
package reasons
