// Package install follows the README's instructions for admins on a node with a real kubelet: it imports the
// images and applies the manifest that cmd/release makes of this tree, and two operators in pods run a
// training in pods. It tests what only shows there: the images and their users, the shipped rights, the
// restricted pod security of the operator's namespace, the probes, the certificate from a secret, reports
// that reach the operator by the name of its Service, metrics behind the API server's authorization, and a
// standby that takes over.
//
// The test's overlay makes up for the missing kube-proxy of the local cluster: it gives the API server's
// address, and the Service of the report server is headless.
package install
