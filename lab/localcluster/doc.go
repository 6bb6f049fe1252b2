// Package localcluster answers one question: how does a machine with nothing
// but Go get a real Kubernetes control plane, with fake GPU nodes and a gang
// scheduler, and get rid of it again?
//
// Everything is built from Go modules (lab/modules/<component>/go.mod) and
// runs as plain processes bound to 127.0.0.1: no containers, no root, Linux only.
//
//	Build   lab/modules/<component>/go.mod -> user cache, once per version
//	Up      certificates -> etcd -> kube-apiserver -> everything else in parallel
//	        -> nodes Ready, queues Open
//	Down    SIGTERM, wait, SIGKILL at a bound, data removed
//
// Invariants:
//   - Only processes that this package started are ever signalled: a pid counts
//     only together with its start time (see process.go).
//   - Only files that this package made are ever removed: Up refuses a directory
//     that holds anything else.
//   - A port that is taken is refused, never shared: an API server that attaches
//     to another cluster's etcd destroys both.
//   - Nothing sleeps for a guessed time; every wait is for a condition, and ends
//     at once with the tail of the log when the process waited for has died.
//
// # Fake pods
//
// A pod on a fake node is Running and Ready as soon as it is bound. It ends when
// its first container's command is exactly ["sleep", "<time>"] (as 20, 20s, 1m;
// behind a wrapper's "--" too), after that time, or as its annotations say (see
// [AnnotationRunSeconds] and [AnnotationExitCode]); any other pod runs until it
// is deleted, and then is gone at once. No container is ever restarted, whatever
// the restartPolicy. The stages are lab/modules/kwok/stages/pod-finish.yaml and
// pod-delete.yaml.
//
// A pod with [AnnotationTrainer] is left to the process "trainers" (lab/simtrainer),
// which lets it train, save, report, resume and end as a real trainer with an
// agent would.
//
// # Faults
//
// A test stops and starts processes with [Cluster.StopProcess] and
// [Cluster.StartProcess], and nodes with [Cluster.KillNode] and
// [Cluster.ReviveNode].
package localcluster
