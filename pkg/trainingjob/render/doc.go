// Package render answers one question: what does a job look like in the cluster? It makes the whole objects
// of a job: the pods of its ranks, the headless Service and the names under it, the checkpoint claim, the pod
// that searches a volume for checkpoints, and the gang that a scheduler is told of.
//
// Every function is pure: the same job gives the same object, and nothing of the job is changed or shared.
// Names, defaults and places come from package spec; a rank's rendezvous comes from its framework.
package render
