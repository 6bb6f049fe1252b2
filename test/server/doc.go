// Package server plays the server's story as its users and admins live it: deploy/server applied, the binary
// with exactly the rights of its account, the real operator and a real scheduler, and curl; or a browser.
//
// The packages below pkg/server have tests of their own, of every case; here is one way through all of them.
package server
