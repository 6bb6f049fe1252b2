// Package simulated is a cluster in the memory of the benchmark's own process, for sizes that no real control
// plane on the same machine bears: an API server without etcd (package apiserver), a scheduler (package
// scheduling decides), and a kubelet for all nodes. The operator beside it is the real one, in a process of
// its own, so that its memory and its processor time are its own.
//
// The scheduler speaks Volcano's dialect, as Volcano does with its action enqueue: a job that waits has a
// group that is Pending, and no pods. So as many jobs can wait as the question asks for, with no more ranks
// than the cluster has GPUs, and the operator does all of its work for them: a group each, its verdict, and
// the reason why it waits, taken from the state of the whole cluster.
//
// What is simpler than in a real cluster:
//
//   - The scheduler counts GPUs alone, and its sessions cost next to nothing. It writes a group's phase and,
//     once the gang is bound, its condition; Volcano also counts the group's pods, and does not preempt while
//     enqueue is among its actions.
//
//   - Pods run, and go, as soon as the kubelet looks. Nodes have no heartbeat.
//
//   - There are no controllers: what a job owns stays when it is deleted.
//
//     cluster.go    from its start to its end
//     scheduler.go the scheduler's reads and writes; kubelet.go: the kubelet's
package simulated
