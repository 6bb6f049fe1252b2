// Package install does what the README tells a cluster's admin to do, on a node with a real kubelet: it
// applies deploy/ with kubectl, and lets two operators of it, in pods, run a training in pods. What only
// shows there is proven there: the shipped rights, the restricted pod security of the operator's namespace,
// its probes, its certificate from a secret, reports that find it by the name of its Service, metrics behind
// the API server's authorization, and a standby that takes over.
//
// Two things the local cluster lacks are in the overlay of the test alone: there is no kube-proxy, so the API
// server is named by its address and the Service of the report server has no address of its own.
package install
