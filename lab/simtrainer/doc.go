// Package simtrainer answers one question: what would the trainers of a gang do whose pods run on fake nodes, where nothing runs?
//
// A pod with the annotation localcluster.AnnotationTrainer is played: rank 0 trains, saves, resumes, reports to the operator's real
// report server with a real token of its own, obeys commands and SIGTERM, and ends as a kubelet would end it, with the agent's last
// word as termination message. The other ranks end as it does. A pod that runs `agent resolve` is played too.
//
//	pods, leases of dead nodes ──watch──▶ Simulator ──status, delete──▶ API server
//	                                       │     ▲
//	           Trainer: Advance, Tell, Terminate │ commands
//	                                       ▼     │
//	                        Volume (file)  reporter ──TLS, TokenRequest──▶ report server
//
// A claim of localcluster.StorageClass gets a PersistentVolume that nobody mounts, so that a scheduler sees it bound (disks.go).
//
// Invariants:
//
//  1. Trainer is pure: its course follows from its Script, the time and what it is told. It is advanced from event to event, so
//     that a trainer costs nothing between two of them.
//  2. Nothing is said that is not in the volume's file. A simulator that is killed at any moment goes on from there: also the time
//     that it was away counts as trained.
//  3. No step is trained while a rank of the gang does not run.
//  4. On a node that was killed nothing is saved, said or ended; when it is revived, its pods go on where they stopped.
//  5. It plays only what is annotated and on a fake node, and it knows of a rank only what the pod's own specification says.
package simtrainer
