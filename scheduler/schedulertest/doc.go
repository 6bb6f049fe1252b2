// Package schedulertest is the contract of a scheduler.Backend: the promises that the operator relies on in
// every dialect. It needs no cluster; test/conformance tests behavior through the API.
//
//	func TestContract(t *testing.T) {
//		schedulertest.Run(t, volcano.New(volcano.DefaultOptions()), schedulertest.Dialect{...})
//	}
//
// Verify returns the broken promises as values, one Violation each. The tests of this package show with
// deliberately broken backends that every check can fail.
package schedulertest
