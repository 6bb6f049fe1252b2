// Package e2e proves on real processes what the other tests prove on played ones: PyTorch, and a trainer in
// Go, train data-parallel in containers on a real kubelet, are interrupted in the middle, and go on as if
// nothing had happened. It needs root, Linux and the Debian packages of install.sh; what is missing fails.
// With -args -reduced it tells only the scenarios that CI has time for.
package e2e
