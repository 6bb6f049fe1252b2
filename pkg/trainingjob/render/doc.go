// Package render renders the Kubernetes objects of a job: the pods of its ranks, the headless Service and its
// EndpointSlices, the checkpoint claim, the pod that searches a volume for checkpoints, and the scheduler's
// gang.
//
// Every function is pure: the same job gives the same object, and no function changes or shares the job.
// Names, defaults and places come from package spec; a rank's rendezvous comes from its framework.
package render
