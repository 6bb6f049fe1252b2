// Package scheduling answers one question: what does the simulated scheduler do next, given what it has been
// told? It is pure: State is told of nodes, gangs and pods, and Decide says what to write.
//
// Gangs are served by priority, then by age, and nobody passes one that waits longer. A gang that fits is
// given places for all of its ranks at once, and invited: then its owner makes its pods, and once all of them
// exist they are bound. One that does not fit waits, unless gangs of lower priority run. Then it is invited
// all the same, and one rank of the lowest and youngest of these is evicted: who owns the victim is to end
// the rest of it. A victim whose pods are all gone waits again, with the age that it had.
//
//	gang        Pending ──▶ Inqueue ──▶ Running
//	               ▲  fits, or   all its    │
//	               │  preempts   pods exist │
//	               └────────────────────────┘ all its pods are gone
//
//	state.go   what is known; places.go who holds which GPUs
//	decide.go  what follows
package scheduling
