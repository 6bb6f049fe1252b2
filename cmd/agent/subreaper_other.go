//go:build !linux

package main

// becomeSubreaper does nothing: only Linux has subreapers, and elsewhere the agent only runs in tests.
func becomeSubreaper() {}
