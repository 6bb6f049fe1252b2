// Package components answers one question: where are the programs that a local cluster runs? It builds them
// from Go modules, once per version, into a cache that clusters share.
//
//	lab/modules/<component>/go.mod ──go build──▶ <cache>/<component>-<key>/
//
// Invariants:
//   - A component's key changes with everything that can change what is built: its module file and go.sum,
//     our own programs in it, its entry in the table of components, the toolchain, the link flags.
//   - A folder appears in the cache whole, by rename, or not at all.
//   - One process at a time builds a component; others wait for it and use what it built.
//   - Nothing is printed when nothing is missing from the cache.
package components
