// Package fragment answers one question: what of a page has changed since it was sent?
//
//	frame      layout and containers with ids; it never changes
//	Fragment   an element in a container, which changes by itself
//
//	fragments now ──Diff──▶ Patch ──▶ browser
//	State of what was sent ──┘
//
// A page is rendered as a frame with its fragments in it. Later the same fragments are rendered anew, and the
// browser is sent a Patch: those that have changed, and what is gone or has moved.
//
// Invariants:
//   - Applied to what a State describes, a Patch gives exactly the fragments that it was made of: it does not
//     matter what happened between, nor how often.
//   - A Patch has no fragment whose HTML is the same, and is empty where nothing has changed. It grows with
//     what has changed, and not with the page: of a container it has the whole order only where that is
//     shorter.
//   - Equal pages have equal digests, in every process.
//   - A container is the frame's, or an element of a fragment that is empty in its HTML. What is in it
//     changes by itself: who applies a patch leaves it alone when the outer fragment changes.
package fragment
