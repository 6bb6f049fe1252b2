// Package scheduling decides what the simulated scheduler does next. It is pure: State receives nodes, gangs
// and pods, and Decide returns what to write.
//
// Gangs are served by priority, then by age, without backfilling. A gang that fits gets places for all of its
// ranks at once, and is invited. Then its owner creates its pods, and once all of them exist they are bound.
// A gang that does not fit waits, unless gangs of lower priority run. Then it is invited too, and one rank of
// the lowest and youngest of these is evicted; the victim's owner must stop the others. A victim whose pods
// are all deleted waits again, with its former age.
//
//	gang        Pending ──▶ Inqueue ──▶ Running
//	               ▲  fits, or   all its    │
//	               │  preempts   pods exist │
//	               └────────────────────────┘ all its pods are gone
//
//	state.go   what is known; places.go who holds which GPUs
//	decide.go  what follows
package scheduling
