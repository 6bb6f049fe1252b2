//go:build !linux

package main

// becomeSubreaper exists on Linux alone; elsewhere the agent only runs in tests.
func becomeSubreaper() {}
