// Package simtrainer answers one question: what would the trainers of a gang do whose pods are on fake nodes,
// where no container runs?
//
// It simulates every pod with the annotation localcluster.AnnotationTrainer. Rank 0 trains, saves, resumes,
// reports to the operator's real report server with a real token of its pod, obeys commands and SIGTERM, and
// ends as a kubelet would end it, with the agent's termination message. The other ranks end as rank 0 does. A
// pod that runs `agent resolve` is simulated too. Each rank whose environment has the beat file posts beats
// with a token of its own pod (beat.go).
//
//	pods, leases of dead nodes --watch--> Simulator --kubelet: status, delete--> API server
//	                                          |
//	                                       leader, one per pod of rank 0
//	                                       |    |
//	            Trainer: Advance, Obey, Terminate   Reporter --HTTPS, TokenRequest--> report server
//	                          |
//	                      StateFile: trainers and checkpoints
//
// A provisioner also gives every claim of localcluster.StorageClass a PersistentVolume, so that schedulers
// see the claim bound. No pod mounts it.
//
// Invariants:
//
//  1. Trainer is pure: its behavior follows from its Config, the time and its inputs. It advances from event
//     to event, so a trainer costs nothing between two events.
//  2. Nothing is reported before it is in the state file. A simulator that is killed at any moment continues
//     from there, and counts the time of its absence as training time.
//  3. No step is trained while a rank of the gang is not running.
//  4. On a dead node nothing is saved, reported or ended. When the node is revived, its pods continue where
//     they stopped.
//  5. Only annotated pods on fake nodes are simulated, and all that is known about a rank is in its pod's
//     spec.
//
// Start reading at trainer.go for what a trainer does, at simulator.go for how it becomes visible in the
// cluster.
package simtrainer
