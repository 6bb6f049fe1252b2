// Package api holds the TrainingJob API against a real API server: what is refused, with which words; what
// may change when; and that the CRD's rules (CEL) and pkg/trainingjob.Validate (Go) judge alike.
package api
