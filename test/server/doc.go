// Package server tests the server end to end: with the manifests of deploy/server, the binary with exactly
// the rights of its account, the real operator, a real scheduler, and curl or a browser.
//
// The packages below pkg/server test every case; this is one scenario through all of them.
package server
