// Package reasons answers one question: does a job that waits say the one reason why, on real schedulers?
//
// Each case provokes one reason in a namespace of its own, on nodes of its own (a label that its jobs select,
// a taint that they tolerate), so that all run beside each other in one cluster under one operator. It reads
// status.scheduling.blocker, the column REASON as kubectl gets it, the condition Admitted and the one event;
// then it makes the operator look again and sees that nothing was said twice; and where it can it takes the
// reason away and sees it gone.
//
// Fake nodes pull no images: there the test itself plays the kubelet that fails to.
package reasons
