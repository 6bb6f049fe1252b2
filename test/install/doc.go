// Package install follows the README and docs/install.md as admins do, on a node with a real kubelet, with
// what a release of this tree has: images, manifests, the chart. Operators in pods run a PyTorch training
// in pods, and a Prometheus scrapes them. It tests what other tests cannot: the images and their users, the
// shipped rights, the restricted pod security of the operator's namespace, the probes, the certificate from a
// secret, reports that reach the operator by the name of its Service, metrics behind the API server's
// authorization, a standby that takes over, and that an installation, upgrade or rollback does not disturb a
// running gang.
//
// TestInstall installs with kubectl, then migrates to Helm. TestOperate, which takes too long for CI,
// installs the release of an earlier commit with Helm and uses all artifacts of make release.
//
// The overlay and the values make up for the missing kube-proxy of the local cluster: they give the API
// server's address, and the Service of the report server is headless.
package install
