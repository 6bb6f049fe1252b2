// Package schedulertest is the contract of a scheduler.Backend: what the operator relies on whatever the scheduler. It is
// pure, so it needs no cluster; behaviour through the API is test/conformance's.
//
//	func TestContract(t *testing.T) { schedulertest.Run(t, volcano.New(volcano.DefaultOptions()), schedulertest.Dialect{...}) }
//
// Verify returns what Run reports, one Violation per broken promise, so that this package's own tests can show with
// deliberately broken backends that each check is able to fail.
package schedulertest
