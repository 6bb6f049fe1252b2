// Package e2e proves on real processes what the other tests prove on played ones: PyTorch trains data-parallel in containers on a
// real kubelet, is preempted in the middle, and goes on as if nothing had happened. It needs root, Linux and the Debian packages of
// install.sh; what is missing fails.
package e2e
