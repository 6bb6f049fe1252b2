// Package backends knows which schedulers the cluster serves, follows the objects that they read, and keeps
// the state of the cluster from which the reasons of waiting jobs are computed.
package backends
