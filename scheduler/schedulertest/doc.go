// Package schedulertest is the contract of a scheduler.Backend: what the operator relies on in every dialect.
// It is pure and needs no cluster; behavior through the API is tested in test/conformance.
//
//	func TestContract(t *testing.T) {
//		schedulertest.Run(t, volcano.New(volcano.DefaultOptions()), schedulertest.Dialect{...})
//	}
//
// Verify returns the broken promises as values, one Violation each, so that the tests of this package can
// show with deliberately broken backends that every check is able to fail.
package schedulertest
