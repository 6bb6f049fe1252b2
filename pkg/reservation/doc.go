// Package reservation keeps capacity for a large gang while smaller ones run, and decides which gangs may
// start in between. It uses no client and no clock, keeps no state, and only returns what the statuses
// should have.
//
//	snapshot.go  the gangs of a lane, and what is written in their statuses
//	policy.go    the admins' settings, and the result of a pass
//	table.go     the capacity of nodes and budgets, and how a gang fits
//	profile.go   what running gangs give back over time, and when a gang fits
//	heads.go     the gangs that get a reservation, and its nodes, moves and lapse
//	admit.go     which later gangs may start: on other nodes, with a bound, or in lent capacity
//	recall.go    which gangs leave lent capacity
//	gates.go     which gangs on Kueue lose their admission gate
//
// # Use
//
// Package contention makes the Snapshot of each lane from what it has for preemption: Nodes and the needs
// of waitingGang, Holds of runningGang, and budgets of quotas. End is the 80% point of the forecast. The
// planner calls Pass each second, also before the broker, and holds all gangs back until the first pass of
// a new process. Statuses get Reservations, Passes and the Hold of gangs whose Held has Fits. A gang in
// Held gets no pods, its unplaced pods are taken back, and on Kueue its gate stays. A Pass takes effect
// once it is written: its KeepsOff becomes the excluded nodes of the pods, and the running gang keeps it
// as Running.Pass. A Recall becomes an order to the victim with mode Save, once the reservation is written as
// Due. An unwritten reservation changes nothing.
//
// On Kueue, gangs have Needs without Nodes, and Budgets decide. A budget that the snapshot lacks does not
// limit a gang: a caller that does not know the quota of a gang leaves ReserveAfter at 0. Only gangs behind
// an admission gate can be held there: Ungate returns those that lose theirs.
//
// # Invariants
//
//  1. No attempt of a gang that fits is held for longer than MaxHold: then it passes all reservations.
//  2. At most MaxSharePercent of the nodes are kept, by at most MaxReservations, none older than MaxAge.
//     After one lapsed, its gang gets none for as long as it had it.
//  3. No gang is held for one of a lower value, or for one that came later.
//  4. No gang is held that can use neither the kept nodes nor the same budgets.
//  5. Without a class that reserves, the result is empty.
//  6. A recall only ends gangs that agreed to it, or that run longer than their pass.
//  7. Capacity that fits the gang and that its scheduler does not use for Placing is released for one pass,
//     to gangs that fit.
//  8. A gang that left lent capacity three times gets none again.
//  9. What is written decides: after a crash at any time the next process returns the same reservations.
package reservation
