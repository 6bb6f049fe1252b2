//go:build !linux

package agent

// becomeSubreaper does nothing: only Linux has subreapers, and elsewhere the agent only runs in tests.
func becomeSubreaper() {}
