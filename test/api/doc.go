// Package api tests the TrainingJob API on a real API server: what is rejected and with which words, what may
// change when, and that the CRD's rules (CEL) agree with pkg/validation.Validate (Go).
package api
