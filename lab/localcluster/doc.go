// Package localcluster answers one question: how does a machine with nothing but Go get a real Kubernetes
// control plane, with fake GPU nodes and a gang scheduler, and get rid of it again?
//
// Everything is built from Go modules (lab/modules/<component>/go.mod) and runs as plain processes bound to
// 127.0.0.1: no containers, no root, Linux only.
//
//	Build   lab/modules/<component>/go.mod -> user cache, once per version
//	Up      certificates -> etcd -> kube-apiserver -> everything else in parallel -> nodes Ready, queues Open
//	Down    SIGTERM, wait, SIGKILL at a bound, data removed
//
// Read the packages below it from the bottom up; each imports only those above it in this list:
//
//	filelock, progress   locks that end with their holder; lines about long work
//	components           what is built from lab/modules, and the cache for it
//	layout               what a cluster keeps on disk, its certificates and ports
//	process              one process: start, identity, health, stop
//	objects, image       what a cluster has from the start: CRDs and nodes; container images
//	servers              the command line of each program, and what each gang scheduler and add-on adds
//	realnode             a node with a real kubelet
//
// Here the files are, from the bottom up: options and annotations, state (the state file), cluster (one
// that is up), then bringup and up, down, faults, status.
//
// Invariants:
//   - Only processes that this package started are ever signalled (see package process).
//   - Only files that this package made are ever removed: Up refuses a directory that holds anything else.
//   - A port that is taken is refused, never shared.
//   - Nothing sleeps for a guessed time. Every wait is for a condition, and ends at once with the tail of the
//     log when the process that it waits for dies.
//   - Commands in messages work at the root of the repository (see [Command]).
//
// Add-ons ([Options].AddOns) are other operators for gangs, which benchmarks compare with ours. They are
// built on request, and run with the settings of their releases unless [Options].Limits overrides them.
//
// # Fake pods
//
// A pod on a fake node is Running and Ready as soon as it is bound. When its first container's command is
// exactly ["sleep", "<time>"] (as 20, 20s, 1m; behind a wrapper's "--" too), it ends after that time.
// Annotations outrank the command (see [AnnotationRunSeconds] and [AnnotationExitCode]). Any other pod runs
// until it is deleted, and is then gone at once, unless [AnnotationSIGTERMExitCode] says how it ends. No
// container is ever restarted, whatever the restartPolicy. The stages are
// lab/modules/kwok/stages/pod-finish.yaml and pod-delete.yaml.
//
// A pod with [AnnotationTrainer] is left to the process "trainers" (lab/simtrainer), which lets it train,
// save, report, resume and end as a real trainer with an agent would.
//
// # Faults
//
// A test stops and starts processes with [Cluster.StopProcess] and [Cluster.StartProcess], and nodes with
// [Cluster.KillNode] and [Cluster.ReviveNode].
package localcluster
