// Package e2e proves with real processes what the other tests prove with simulated ones: PyTorch and a
// trainer in Go train data-parallel in containers on a real kubelet, are interrupted, and continue as if
// nothing had happened. It needs Linux, root and the Debian packages of install.sh, and fails without them.
// With -args -reduced it plays only the scenarios that CI has time for.
package e2e
