// Package fragment answers one question: what of a page has changed since it was sent?
//
//	frame      layout and containers with ids; it never changes
//	Fragment   an element in a container, which changes independently
//
//	fragments now ──Diff──▶ Patch ──▶ browser
//	State of what was sent ──┘
//
// A page is rendered as a frame with its fragments in it. For an update the fragments are rendered again, and
// the server sends a Patch: the changed, removed and moved ones.
//
// Invariants:
//   - A Patch applied to the page of a State gives exactly the fragments that it was made of, whatever
//     happened in between.
//   - A Patch has no fragment whose HTML is the same, and is empty without a change. Its size depends on the
//     change and not on the page: it has the complete order of a container only if that is shorter.
//   - Equal pages have equal digests, in every process.
//   - A container belongs to the frame, or is an element of a fragment, empty in its HTML. Its content
//     changes independently: a patch of the outer fragment leaves it alone.
package fragment
