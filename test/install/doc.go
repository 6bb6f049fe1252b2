// Package install follows the README and docs/install.md as admins do, on a node with a real kubelet, with
// what a release of this tree has: images, manifests, the chart. Operators in pods run a PyTorch training
// in pods, and a Prometheus scrapes them. It tests what only shows there: the images and their users, the
// shipped rights, the restricted pod security of the operator's namespace, the probes, the certificate
// from a secret, reports that reach the operator by the name of its Service, metrics behind the API
// server's authorization, a standby that takes over, and that nobody who installs, upgrades or goes back
// touches a gang that runs.
//
// TestInstall begins with kubectl and goes over to Helm. TestOperate, which takes too long for CI, begins
// with Helm and the release of an earlier commit, and has all that make release makes.
//
// The overlay and the values make up for the missing kube-proxy of the local cluster: they give the API
// server's address, and the Service of the report server is headless.
package install
